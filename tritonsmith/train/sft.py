"""Supervised fine-tuning on prompt/completion rows, through TRL's `SFTTrainer`, with LoRA or in full.

The loss is on the completion only. Best-of-N trains through the same `fit`, which leaves `sft.engine = "compiled"` to
`packed`. Where the rows come from is the matter of `data`; preference losses and distillation are not here.
"""

import logging
import math
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from datasets import Dataset
from peft import PeftModel
from pydantic import ValidationError
from torch.utils.data import Sampler
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from tritonsmith import jsonl
from tritonsmith.config import Config, ConfigError, SftConfig
from tritonsmith.data.pairs import write_pairs
from tritonsmith.data.rows import Row
from tritonsmith.tasks.format import load_spec
from tritonsmith.train import models, packed, ranks, trainer
from tritonsmith.train.encoding import encode
from tritonsmith.train.order import LengthOrder
from tritonsmith.train.policy import make_room
from tritonsmith.train.pretrain.renaming import with_copies
from tritonsmith.verify.pool import Verifier

log = logging.getLogger(__name__)


def pairs(config: Config, verifier: Verifier, limit: int | None = None) -> list[Row]:
    """Read the rows of `sft.data`: a JSONL file as it is; a SPEC through our own lowering and the
    verifier.

    Verified pairs are kept in `run.dir/sft/pairs.jsonl`, so that none is judged twice. `limit` takes the first rows
    only. Raises ConfigError for a file that holds other things, and where no row is left.
    """
    style = models.prompt_style(config.model)
    if config.sft.data.endswith(".jsonl"):
        if not Path(config.sft.data).is_file():
            raise ConfigError(f"sft.data: there is no file {config.sft.data}")
        rows = [_row(fields) for fields in jsonl.read(Path(config.sft.data))][:limit]
    else:
        tasks = load_spec(config.sft.data)[:limit]
        rows = write_pairs(tasks, verifier, config.run.dir / "sft" / "pairs.jsonl", style)
        log.info("sft: %d of %d tasks have a verified answer", len(rows), len(tasks))
    if not rows:
        raise ConfigError(f"sft.data: {config.sft.data} gives no row to train on")
    return rows


def _row(fields: dict[str, object]) -> Row:
    """Accept plain strings too, as TRL's standard prompt/completion format has them; other columns are passed over."""
    row: dict[str, object] = {"task": fields.get("task", ""), "graph": fields.get("graph", "")}
    for key, role in (("prompt", "user"), ("completion", "assistant")):
        value = fields.get(key)
        row[key] = [{"role": role, "content": value}] if isinstance(value, str) else value
    try:
        return Row.model_validate(row)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise ConfigError(
            f"sft.data: a row needs prompt and completion, as text or messages; see its {where}"
        ) from error


def train(
    config: Config,
    rows: Sequence[Row],
    model: PreTrainedModel | PeftModel,
    tokenizer: PreTrainedTokenizerBase,
    out: Path,
    resume: bool = True,
) -> Path:
    """Run the `[sft]` section on `rows`; see `fit` for what `out` holds afterwards."""
    return fit(config, config.sft, rows, model, tokenizer, out, "sft", resume)


def fit_from(
    config: Config,
    settings: SftConfig,
    rows: Sequence[Row],
    start: Path | None,
    out: Path,
    name: str,
) -> Path:
    """`fit` by all processes of the run, from the model in `start` (None: the configured one); called on rank 0."""
    with ranks.together(_fit_here, config, settings, list(rows), start, out, name):
        return _fit_here(config, settings, rows, start, out, name)


def _fit_here(
    config: Config, settings: SftConfig, rows: Sequence[Row], start: Path | None, out: Path, name: str
) -> Path:
    """A rank's part of `fit_from`."""
    make_room()
    model, tokenizer = trainer.load(config, start, master=True, spread=True)
    return fit(config, settings, rows, model, tokenizer, out, name)


def ready_from(config: Config, settings: SftConfig, start: Path | None) -> None:
    """Compile what `fit_from` will take, where `settings.engine` is compiled; called on rank 0, by all processes."""
    if settings.engine != "compiled":
        return
    with ranks.together(_ready_here, config, settings, start):
        _ready_here(config, settings, start)


def _ready_here(config: Config, settings: SftConfig, start: Path | None) -> None:
    """A rank's part of `ready_from`."""
    make_room()
    packed.ready(config, settings, trainer.load(config, start, master=True, spread=True)[0])


def schedule(rows: int, settings: SftConfig) -> tuple[int, int]:
    """How many times `batch` rows an optimiser step of TRL's trainer takes, and how many steps there are.

    It begins each epoch with a new step, so more may be needed of the former than `trainer.accumulated` says; where
    there are more epochs than `most_steps`, the last ones are left out.
    """
    batches, times = math.ceil(rows / settings.batch), trainer.accumulated(rows, settings)
    most = settings.most_steps or math.inf
    while (steps := math.ceil(settings.epochs * math.ceil(batches / times))) > most and times < batches:
        times += 1
    return times, int(min(steps, most))


class _Learner(SFTTrainer):
    """TRL's trainer, whose order of rows does not depend on how many processes there are."""

    def _get_train_sampler(self, train_dataset: Dataset | None = None) -> Sampler[int] | None:
        data = train_dataset if train_dataset is not None else self.train_dataset
        if self.args.train_sampling_strategy != "group_by_length" or not isinstance(data, Dataset):
            return cast("Sampler[int] | None", super()._get_train_sampler(data))  # pyright: ignore[reportArgumentType]
        step = self.args.per_device_train_batch_size * self.args.gradient_accumulation_steps * ranks.count()
        return LengthOrder([len(ids) for ids in data["input_ids"]], step, self.args.seed)


def fit(
    config: Config,
    settings: SftConfig,
    rows: Sequence[Row],
    model: PreTrainedModel | PeftModel,
    tokenizer: PreTrainedTokenizerBase,
    out: Path,
    name: str,
    resume: bool = True,
) -> Path:
    """Fine-tune on `rows` and return `out/model`, which appears whole or not at all.

    Checkpoints live in `out/checkpoints` until then; after kill -9 the newest whole one is taken up.
    `name` is the run's name in TensorBoard. Rows longer than `settings.max_length` tokens are left out, for half
    an answer teaches not to end.
    """
    rows = with_copies(rows, settings.copies, config.run.seed) if settings.copies else rows
    encoded = encode(tokenizer, rows)
    fitting = [one for one in encoded if len(one.ids) <= settings.max_length]
    if len(fitting) < len(rows):
        log.warning(
            "%s: %d of %d rows exceed %d tokens", name, len(rows) - len(fitting), len(rows), settings.max_length
        )
    if not fitting:
        raise ConfigError(f"{name}: no row fits into sft.max_length = {settings.max_length} tokens")
    if settings.engine == "compiled":
        return packed.fit(config, settings, fitting, model, tokenizer, out, name)
    times, steps = schedule(len(fitting), settings)
    given = trainer.options(config, model, out / "checkpoints", steps)  # pyright: ignore[reportArgumentType]
    if steps <= settings.save_steps:  # the only checkpoint would be of the last step, and the model is saved then
        given["save_strategy"] = "no"
    args = SFTConfig(
        **given,  # pyright: ignore[reportArgumentType]
        learning_rate=settings.lr,
        lr_scheduler_type="cosine",
        warmup_steps=min(10, steps // 10),
        num_train_epochs=settings.epochs,
        max_steps=steps if settings.most_steps is not None else -1,
        **trainer.divided(settings.batch, times, name),
        max_length=settings.max_length,
        completion_only_loss=True,
        packing=settings.packing,
        train_sampling_strategy="random" if settings.packing else "group_by_length",
        save_steps=settings.save_steps,
    )
    trainer.alone(args)
    peft = models.lora(config.lora, model) if config.lora.enabled and not isinstance(model, PeftModel) else None
    data = Dataset.from_list([one.columns() for one in fitting])
    learner = _Learner(model=model, args=args, train_dataset=data, processing_class=tokenizer, peft_config=peft)
    trainer.prepare(learner, config, name)
    trainer.run_trainer(learner, resume)
    return trainer.finish(learner, out / "model")
