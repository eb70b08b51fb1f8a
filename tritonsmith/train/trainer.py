"""What the SFT and GRPO trainers share: device settings, checkpoints that survive kill -9, saved models, log lines.

Does not train: `sft` and `grpo` do, each through its TRL trainer.
"""

import json
import logging
import math
import shutil
import sys
import warnings
from pathlib import Path
from typing import cast

import datasets
import torch
import transformers
from huggingface_hub.utils import enable_progress_bars
from peft import PeftModel
from torch.distributed.tensor import DTensor
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.integrations.integration_utils import TensorBoardCallback

from tritonsmith.brisk import brisk
from tritonsmith.config import Config, ConfigError, SftConfig
from tritonsmith.train import models, ranks

log = logging.getLogger(__name__)

# TRL 1.16 still sets the older name, which transformers has begun to warn of; 5.17 does not know the newer one.
warnings.filterwarnings("ignore", message=r"`(is_)?gradient_checkpointing` is deprecated", category=FutureWarning)

WHOLE = "whole.json"
"""Written into a checkpoint after everything else: a folder without it was being written when the run was killed."""

MOST_BROKEN = 10
"""Steps in a row without a finite gradient after which a training ends."""
LARGE = 1_000_000_000
"""Parameters from which activations are recomputed on a GPU rather than kept (`gradient_checkpointing`)."""

Options = dict[str, str | int | float | bool | list[str]]


NOISE = ("mtime may not be reliable", "missing keys in the checkpoint model loaded: ['lm_head.weight']")
"""Said by transformers at each checkpoint: of how it sorts them, and of an output layer that is the embedding."""


def quiet() -> None:
    """Turn off what transformers says of nothing amiss, and all bars of the libraries but those of downloads."""
    for name in ("transformers.trainer", "transformers.trainer_utils"):
        logging.getLogger(name).addFilter(_is_no_noise)
    transformers.utils.logging.disable_progress_bar()
    datasets.disable_progress_bars()
    if sys.stderr.isatty():
        enable_progress_bars()


def _is_no_noise(record: logging.LogRecord) -> bool:
    return not any(text in record.getMessage() for text in NOISE)


def options(config: Config, model: PreTrainedModel, out: Path, total_steps: int) -> Options:
    """Arguments common to TRL's trainer configurations; its own defaults (bf16, recomputation) assume a GPU."""
    cuda = torch.cuda.is_available()
    return {
        "output_dir": str(out),
        "seed": config.run.seed,
        "report_to": ["tensorboard"],
        "logging_steps": max(1, total_steps // 100),
        "save_strategy": "steps",
        "save_total_limit": 2,
        "disable_tqdm": not sys.stderr.isatty(),
        "use_cpu": not cuda,
        "bf16": cuda and config.model.dtype == "bfloat16",
        "gradient_checkpointing": cuda and model.num_parameters() >= LARGE,
        "dataloader_pin_memory": cuda,
        "ddp_find_unused_parameters": False,
    }


def accumulated(rows: int, settings: SftConfig) -> int:
    """How many times `batch` of these rows an optimiser step takes, such that there are no more than `most_steps`.

    One after the other: all at once, what a step keeps for its gradients would outgrow the GPU with the rows.
    """
    if settings.most_steps is None:
        return settings.accumulation
    return max(settings.accumulation, math.ceil(rows * settings.epochs / (settings.batch * settings.most_steps)))


def divided(batch: int, accumulation: int, name: str) -> dict[str, int]:
    """Each process's part of a step of `batch` rows, `accumulation` times: TRL's arguments for it.

    What a step is does not depend on how many processes do it; each takes fewer rows at a time, or fewer times. Raises
    ConfigError where the rows cannot be shared equally.
    """
    own, rest = divmod(batch * accumulation, ranks.count())
    if rest:
        raise ConfigError(
            f"{name}: a step has batch x accumulation = {batch} x {accumulation} rows, "
            f"which {ranks.count()} processes cannot share equally"
        )
    at_once = max(size for size in range(1, max(batch // ranks.count(), 1) + 1) if own % size == 0)
    return {"per_device_train_batch_size": at_once, "gradient_accumulation_steps": own // at_once}


def alone(args: TrainingArguments) -> None:
    """Let a process train on one GPU, however many it sees: the trainer would spread each batch over all of them."""
    args._n_gpu = min(args.n_gpu, 1)


class MarkWhole(TrainerCallback):
    """Marks each checkpoint once all its files are written, by all processes."""

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object) -> None:
        """Write the mark; the trainer calls this after the last file."""
        folder = Path(args.output_dir or ".") / f"checkpoint-{state.global_step}"
        ranks.meet()
        if ranks.is_first():
            mark = {"step": state.global_step, "fsdp": models.is_sharded()}
            (folder / WHOLE).write_text(json.dumps(mark))


FIGURES = ("loss", "reward", "kl")
"""What is shown while training goes on; all else is in TensorBoard."""


class FiniteSteps(TrainerCallback):
    """Leaves out a step whose gradient is not finite: one such step would make every weight NaN.

    Clipping makes all of a gradient NaN where a part of it is. Seen in GRPO on a GPU, most likely by cuDNN's attention
    (`run_trainer`).
    """

    def __init__(self) -> None:
        self._in_a_row = 0

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        """Take the gradients away, on all processes, if any is broken on one; raises RuntimeError if all steps are."""
        model = cast(PreTrainedModel, kwargs["model"])
        gradients = [_local(weight.grad) for weight in model.parameters() if weight.grad is not None]
        if all(ranks.gathered(bool(torch.nn.utils.get_total_norm(gradients).isfinite()))):
            self._in_a_row = 0
            return
        self._in_a_row += 1
        if self._in_a_row == MOST_BROKEN:
            raise RuntimeError(f"the gradients of {MOST_BROKEN} steps in a row are not finite: the weights are broken")
        broken = [
            name for name, weight in model.named_parameters() if weight.grad is not None and not _finite(weight.grad)
        ]
        log.warning(
            "step %d: the gradient is not finite, nothing is learnt from it (%d of %d weights here, %s first)",
            state.global_step + 1, len(broken), len(gradients), next(iter(broken), "none"),
        )  # fmt: skip
        for weight in model.parameters():
            weight.grad = None


def _finite(gradient: torch.Tensor) -> bool:
    return bool(_local(gradient).isfinite().all())


def _local(gradient: torch.Tensor) -> torch.Tensor:
    """This process's part of a gradient."""
    return gradient.to_local() if isinstance(gradient, DTensor) else gradient


class Bar(ProgressCallback):
    """The trainer's progress bar with the figures beside it, where its own prints a line of them at each log."""

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **kwargs: object,
    ) -> None:
        """Set the figures."""
        shown = _figures(logs or {})
        if self.training_bar is not None and shown:
            self.training_bar.set_postfix_str(shown)


class PlainLines(TrainerCallback):
    """Where no progress bar can be drawn: one log line at each tenth of the training."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tenth = -1

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, float] | None = None,
        **kwargs: object,
    ) -> None:
        """Say where training is, with the figures that are there."""
        tenth = 10 * state.global_step // max(state.max_steps, 1)
        if tenth == self.tenth or logs is None:
            return
        self.tenth = tenth
        log.info("%s: step %d of %d  %s", self.name, state.global_step, state.max_steps, _figures(logs))


def _figures(logs: dict[str, float]) -> str:
    return "  ".join(f"{key} {logs[key]:.4g}" for key in FIGURES if key in logs)


def prepare(trainer: Trainer, config: Config, name: str) -> None:
    """Add the callbacks above and send TensorBoard's events to `run.dir/tensorboard/name`."""
    for theirs in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(theirs)
    trainer.add_callback(MarkWhole())
    trainer.add_callback(FiniteSteps())
    trainer.add_callback(Bar() if sys.stderr.isatty() else PlainLines(name))
    for callback in trainer.callback_handler.callbacks:
        if isinstance(callback, TensorBoardCallback):
            callback.logging_dir = str(config.run.dir / "tensorboard" / name)


def newest_whole(out: Path) -> Path | None:
    """Find the newest checkpoint that was written to its end, and remove the torn ones."""
    whole: dict[int, Path] = {}
    for folder in out.glob("checkpoint-*"):
        if (folder / WHOLE).exists():
            whole[int(folder.name.rpartition("-")[2])] = folder
        else:
            log.warning("%s was being written when the run was stopped; it is not used", folder)
            shutil.rmtree(folder)
    return whole[max(whole)] if whole else None


def run_trainer(trainer: Trainer, resume: bool) -> None:
    """Train, from the newest whole checkpoint where `resume` is on and there is one.

    Any number of processes may go on, but for one thing: raises ConfigError where the checkpoint was written under FSDP
    and this is not, or the other way round.
    """
    # With a mask, cuDNN's attention gives a gradient of NaN where a batch is 64 more than a multiple of 128 tokens wide
    # and a query sees little (torch 2.11 on H100 and H200, pytorch/pytorch#196678).
    torch.backends.cuda.enable_cudnn_sdp(False)
    out = Path(trainer.args.output_dir or ".")
    start = ranks.first(lambda: newest_whole(out)) if resume else None
    if start is not None:
        before = json.loads((start / WHOLE).read_text()).get("fsdp", False)
        if before != models.is_sharded():
            raise ConfigError(f"{start} was written {'under' if before else 'without'} FSDP: go on as it began")
        log.info("resuming from %s", start)
    with brisk():  # judging beside it is Python too, and each operator here has to get the interpreter back
        trainer.train(resume_from_checkpoint=str(start) if start else None)


def finish(trainer: Trainer, folder: Path) -> Path:
    """Save model, tokenizer and `trainer_state.json` to `folder`, whole or not at all; drop the checkpoints."""
    partial = folder.with_name(folder.name + ".partial")
    ranks.first(lambda: shutil.rmtree(partial, ignore_errors=True))
    trainer.save_model(str(partial))
    ranks.meet()
    if ranks.is_first():
        trainer.state.save_to_json(str(partial / "trainer_state.json"))
        partial.rename(folder)
        shutil.rmtree(trainer.args.output_dir or "", ignore_errors=True)
    return folder


def load(
    config: Config, folder: Path | None, master: bool = False, spread: bool = False
) -> tuple[PreTrainedModel | PeftModel, PreTrainedTokenizerBase]:
    """Load the configured model (`folder` None), or one that a step of the run saved; an adapter stays trainable.

    `master` gives weights that are to be trained in full as float32, whatever `model.dtype`: half precision has eight
    bits, and the steps of a small learning rate would be lost in rounding. The trainer then computes in `model.dtype`.
    `spread` is for a model that all processes are about to train: see `models.load`.
    """
    own = config.model
    if folder is not None and (folder / "adapter_config.json").exists():
        base, tokenizer = models.load(own, spread)
        models.tell_style(tokenizer, models.prompt_style(own))
        return PeftModel.from_pretrained(base, str(folder), is_trainable=True), tokenizer
    if master and not config.lora.enabled and not own.load_in_8bit:
        own = own.model_copy(update={"dtype": "float32"})
    if folder is not None:
        own = own.model_copy(update={"id": str(folder)})
    model, tokenizer = models.load(own, spread)
    models.tell_style(tokenizer, models.prompt_style(config.model))
    return model, tokenizer


def overwrite(model: PreTrainedModel, fresh: PreTrainedModel | PeftModel) -> bool:
    """Write one model's weights over another's, in place; False, and nothing is done, where they are not alike.

    What was captured of a model holds then. Adapters and quantised weights are not for this.
    """
    if isinstance(model, PeftModel) or isinstance(fresh, PeftModel) or getattr(model, "is_quantized", False):
        return False
    ours, theirs = dict(model.named_parameters()), dict(fresh.named_parameters())
    shapes = [{name: weight.shape for name, weight in weights.items()} for weights in (ours, theirs)]
    if shapes[0] != shapes[1]:
        return False
    with torch.no_grad():
        for name, weight in ours.items():
            weight.copy_(theirs[name])
    return True


def dtype(config: Config) -> torch.dtype:
    """`model.dtype` as torch has it."""
    return cast(torch.dtype, getattr(torch, config.model.dtype))


def to_device(model: PreTrainedModel | PeftModel) -> PreTrainedModel | PeftModel:
    """Put a model on the GPU if there is one; a quantised model is there already."""
    if torch.cuda.is_available() and not getattr(model, "is_quantized", False):
        torch.nn.Module.to(model, "cuda")
    return model
