"""Fine-tuning of whole models on packed rows, by pretraining's compiled step: `sft.engine = "compiled"`.

Who is fine-tuned time and again, as in best-of-N's rounds, is compiled once a process, so its model and its step are
kept. There are no checkpoints: what was killed begins anew. Rows are the matter of `sft`, the step of `pretrain.step`.
"""

import json
import logging
import math
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeGuard, cast

import numpy as np
import torch
from peft import PeftModel
from torch import Tensor
from torch.utils.tensorboard import SummaryWriter
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tritonsmith.brisk import brisk
from tritonsmith.config import Config, ConfigError, SftConfig
from tritonsmith.errors import UserError
from tritonsmith.progress import bar
from tritonsmith.train import models, ranks, trainer
from tritonsmith.train.encoding import Encoded
from tritonsmith.train.pretrain.optimizer import Optimizers, scale
from tritonsmith.train.pretrain.packing import ANSWER, PROMPT, Packed, in_rows
from tritonsmith.train.pretrain.step import Step, tf32

log = logging.getLogger(__name__)

WARMUP = 10
"""Steps of linear warm-up at most, a tenth of all where those are fewer than a hundred: `sft`'s other engine's too."""

_at_hand: Step | None = None
"""The step that is compiled, and the model that it is of."""


def fit(
    config: Config,
    settings: SftConfig,
    encoded: Sequence[Encoded],
    model: PreTrainedModel | PeftModel,
    tokenizer: PreTrainedTokenizerBase,
    out: Path,
    name: str,
) -> Path:
    """Fine-tune on rows as `encode` gives them and return `out/model`; see `sft.fit`. All ranks call it.

    Raises ConfigError for adapters, quantised models, weights that are spread, and a batch that the processes cannot
    share, UserError where the loss is no number in the end.
    """
    global _at_hand
    if not _is_whole(model, config):
        raise ConfigError(
            "sft.engine = compiled trains all weights, whole on each GPU: set lora.enabled = false, or sft.engine = trl"
        )
    if settings.batch % ranks.count():
        raise ConfigError(f"{name}: batch = {settings.batch} rows are not to be shared by {ranks.count()} processes")
    step, device, half = _prepared(config, model)
    rows = pack(encoded, settings.max_length, cast(int, tokenizer.pad_token_id))
    with brisk(), tf32():  # judging beside it is Python too
        losses, seconds = _train(step, rows, settings, config.run.seed, device, half, name)
    if not math.isfinite(losses[-1]):
        raise UserError(f"{name}: the loss is {losses[-1]} after {len(losses)} steps; begin again with a lower lr")
    tokens = sum(len(one.ids) for one in encoded) * settings.epochs
    log.info("%s: %d steps, loss %.4f, %s tokens/s", name, len(losses), losses[-1], f"{tokens / seconds:,.0f}")
    ranks.meet()
    if ranks.is_first():
        _save(config, step.model, tokenizer, losses, out / "model", name)
    if step.model.num_parameters() >= trainer.LARGE:  # what comes next needs the memory
        _at_hand = None
    ranks.meet()
    return out / "model"


def ready(config: Config, settings: SftConfig, model: PreTrainedModel | PeftModel) -> None:
    """Compile what `fit` takes with these settings, which is a minute on a GPU, while there is something to wait for.

    Nothing is learnt. All ranks call it; what `fit` refuses it leaves to that.
    """
    if not _is_whole(model, config) or settings.batch % ranks.count():
        return
    step, device, half = _prepared(config, model)
    step.model.train()
    optimizers = Optimizers(step.model, "adamw", settings.lr, half)
    row = pack([Encoded(np.zeros(2, dtype=np.int32), start=1)], settings.max_length, 0).to(device)
    with brisk(), tf32():
        step.backward(row, torch.zeros(settings.batch, dtype=torch.long, device=device), 0.0)
    step.model.zero_grad(set_to_none=True)
    optimizers.finish()


def pack(encoded: Sequence[Encoded], length: int, padding: int) -> Packed:
    """Rows of `length` tokens of what `encode` gives, none of which is longer."""
    kinds = [np.full(len(one.ids), ANSWER, dtype=np.uint8) for one in encoded]
    for kind, one in zip(kinds, encoded, strict=True):
        kind[: one.start] = PROMPT
        kind[0] = 0
    return in_rows([one.ids for one in encoded], kinds, length, padding)


def orders(rows: int, epochs: float, step: int, seed: int) -> Tensor:
    """The rows of each optimiser step (S, R), R being `step` or all: every row once an epoch, in an order of its own.

    The last step is filled up with rows of an epoch that it begins.
    """
    size = min(step, rows)
    steps = math.ceil(rows * epochs / size)
    generator = torch.Generator().manual_seed(seed)
    shuffled = [torch.randperm(rows, generator=generator) for _ in range(math.ceil(steps * size / rows))]
    return torch.cat(shuffled)[: steps * size].view(steps, size)


def _is_whole(model: PreTrainedModel | PeftModel, config: Config) -> TypeGuard[PreTrainedModel]:
    """Whether all weights are trained, and each process has them all."""
    adapters = config.lora.enabled or isinstance(model, PeftModel)
    return not (adapters or config.model.load_in_8bit or models.is_sharded())


def _prepared(config: Config, model: PreTrainedModel) -> tuple[Step, str, bool]:
    """The compiled step, where it is, and whether it computes in bfloat16."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return _step_of(model, device), device, device == "cuda" and config.model.dtype == "bfloat16"


def _step_of(model: PreTrainedModel, device: str) -> Step:
    """The compiled step, its model having the weights of `model`."""
    global _at_hand
    if _at_hand is None or not trainer.overwrite(_at_hand.model, model):
        _at_hand = Step(cast(PreTrainedModel, torch.nn.Module.to(model, device)), device)
    return _at_hand


def _train(
    step: Step, rows: Packed, settings: SftConfig, seed: int, device: str, half: bool, name: str
) -> tuple[list[float], float]:
    """Train in place; gives the loss of each optimiser step, and how many seconds it took.

    A pass is of `settings.batch` rows, whatever there are: the compiled step takes one shape.
    """
    step.model.train()
    optimizers = Optimizers(step.model, "adamw", settings.lr, half)
    rows = rows.to(device)
    chosen = orders(len(rows), settings.epochs, settings.batch * trainer.accumulated(len(rows), settings), seed)
    losses: list[Tensor] = []
    begin = time.monotonic()
    with bar(name, len(chosen)) as advance:
        for number, indices in enumerate(chosen, 1):
            filled = _filled(indices, settings.batch).to(device)
            total = step.total(rows, filled, 0.0)
            parts = [step.backward(rows, some, 0.0, total) for some in filled.view(-1, settings.batch)]
            step.add_up()
            optimizers.step(scale("cosine", number, number / len(chosen), min(WARMUP, len(chosen) // 10)))
            losses.append(torch.stack(parts).sum())
            advance(1)
    optimizers.finish()
    parts = ranks.gathered(torch.stack(losses).tolist())
    return [sum(of_step) for of_step in zip(*parts, strict=True)], time.monotonic() - begin


def _filled(indices: Tensor, batch: int) -> Tensor:
    """The rows of a step, some of them again where they do not fill a pass."""
    passes = math.ceil(len(indices) / batch)
    return indices.repeat(math.ceil(passes * batch / len(indices)))[: passes * batch]


def _save(
    config: Config,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    losses: Sequence[float],
    folder: Path,
    name: str,
) -> None:
    """Keep the model, whole or not at all, with the losses beside it; these go to TensorBoard too."""
    with SummaryWriter(str(config.run.dir / "tensorboard" / name)) as writer:
        for number, loss in enumerate(losses, 1):
            writer.add_scalar("train/loss", loss, number)
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    models.save(model, tokenizer, partial)
    history = [{"step": number, "loss": loss} for number, loss in enumerate(losses, 1)]
    (partial / "trainer_state.json").write_text(json.dumps({"global_step": len(losses), "log_history": history}))
    partial.rename(folder)
