"""Train for so many minutes: steps, checkpoints, resuming, validation by level, a line of figures every ten seconds.

A checkpoint is one file that appears whole or not at all. Time counts only while training: neither compiling, nor
validating, nor what lay between a kill and the next start. Several processes (`ranks`) share each step's rows and step
alike; what they make is what one would.
"""

import json
import logging
import math
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import Tensor
from transformers import PreTrainedModel

from tritonsmith.errors import UserError
from tritonsmith.train import ranks
from tritonsmith.train.pretrain.model import flops_per_token
from tritonsmith.train.pretrain.optimizer import Kind, Optimizers, Schedule, scale
from tritonsmith.train.pretrain.packing import ANSWER, Packed
from tritonsmith.train.pretrain.step import Step, tf32
from tritonsmith.verify.roofline import HARDWARE

log = logging.getLogger(__name__)

QUIET = 10.0
"""Seconds between two lines of figures."""
AHEAD = 8
"""Steps that may be queued on the GPU: a clock that is read on the CPU must not run ahead of the work."""


@dataclass(frozen=True)
class Recipe:
    """How long and how to train."""

    minutes: float = 7.0
    batch: int = 64
    """Rows a step."""
    lr: float = 2e-3
    optimizer: Kind = "adamw"
    schedule: Schedule = "wsd"
    prompt_weight: float = 0.0
    """What a token of a prompt counts, a completion's being 1."""
    seed: int = 0
    save_minutes: float = 2.0
    """Minutes of training between two checkpoints."""


@dataclass
class Progress:
    """What a checkpoint says of how far training is."""

    step: int = 0
    seconds: float = 0.0
    """Time spent training."""


@dataclass(frozen=True)
class Loss:
    """What the completions of a validation set cost a model."""

    token: float
    """Nats a token."""
    byte: float
    """Bits a byte of text, which does not depend on the tokenizer."""
    document: float
    """Nats a completion: e to the minus this is how likely the very text is."""


@dataclass(frozen=True)
class Outcome:
    """What training came to."""

    steps: int
    epochs: float
    tokens: int
    """Tokens gone through, padding included."""
    tokens_per_second: float
    utilisation: float | None
    """Share of the GPUs' bf16 rate (`verify.roofline.HARDWARE`); None off a GPU."""
    validation: dict[int, Loss] = field(default_factory=dict)
    """By the task's level."""


@tf32()
def fit(
    model: PreTrainedModel,
    train: Packed,
    validation: Mapping[int, Packed],
    recipe: Recipe,
    device: str,
    checkpoint: Path | None = None,
    half: bool | None = None,
) -> Outcome:
    """Train in place until the time is over, going on from `checkpoint` where there is one.

    `half` computes in bfloat16 (None: on a GPU); the model is in float32 afterwards all the same. The checkpoint is
    left there: who keeps the model removes it.
    """
    torch.nn.Module.to(model, device)
    model.train()
    train = train.to(device)
    run = _Run(model, train, recipe, device, device == "cuda" if half is None else half)
    if checkpoint is not None:
        if ranks.is_first():
            _sweep(checkpoint)
        if checkpoint.exists():
            run.restore(checkpoint)
    for _ in run.steps():
        if checkpoint is not None and run.due():
            run.save(checkpoint)
            log.info("%s", _by_level(run.validate(validation)))
    done = run.progress
    tokens = done.step * run.batch * train.ids.shape[1]
    rate = tokens / max(done.seconds, 1e-3)
    run.refuse_nonsense()
    losses = run.validate(validation)
    log.info("%d steps, %s tokens/s; %s", done.step, f"{rate:,.0f}", _by_level(losses))
    run.optimizers.finish()
    ranks.meet()
    return Outcome(
        steps=done.step,
        epochs=done.step * run.batch / len(train),
        tokens=tokens,
        tokens_per_second=rate,
        utilisation=run.utilisation(rate),
        validation=losses,
    )


class _Run:
    """One training: model, data, optimiser, and where it is."""

    def __init__(self, model: PreTrainedModel, train: Packed, recipe: Recipe, device: str, half: bool) -> None:
        self.model, self.train, self.recipe, self.device = model, train, recipe, device
        self.batch = min(recipe.batch, len(train))
        self.step = Step(model, device)
        self.optimizers = Optimizers(model, recipe.optimizer, recipe.lr, half)
        self.progress = Progress()
        self.flops = flops_per_token(model, train.positions)
        self.last = torch.zeros(())
        self._first, self._begin, self._saved = 0, time.monotonic(), 0.0
        self._before = 0.0

    def steps(self) -> Iterator[None]:
        """Train step by step until the time is over."""
        limit = 60 * self.recipe.minutes
        reported, first = time.monotonic(), True
        for indices in self._batches():
            share = self.progress.seconds / limit
            if share >= 1:
                return
            loss = self.last = self.step.backward(self.train, indices, self.recipe.prompt_weight)
            self.step.add_up()
            self.progress.step += 1
            self.optimizers.step(scale(self.recipe.schedule, self.progress.step, share))
            if first:
                loss.item()
                self._start()  # compiling is not training
                first = False
            elif self.progress.step % AHEAD == 0 and self.device == "cuda":
                torch.cuda.synchronize()
            self.progress.seconds = ranks.first(lambda: self._before + time.monotonic() - self._begin)
            if time.monotonic() - reported > QUIET:
                reported = time.monotonic()
                self._report(loss.item() * ranks.count(), share)  # as this process's rows have it
            yield

    def _start(self) -> None:
        """Let the clock run from here."""
        self._first, self._begin, self._before = self.progress.step, time.monotonic(), self.progress.seconds

    def _batches(self) -> Iterator[Tensor]:
        """Indices of rows from where training is, without end: every row once an epoch, in an order of its own."""
        whole = len(self.train) // self.batch
        while True:
            epoch, within = divmod(self.progress.step, whole)
            generator = torch.Generator().manual_seed(1_000_003 * self.recipe.seed + epoch)
            order = torch.randperm(len(self.train), generator=generator).to(self.device)
            yield from order[within * self.batch : whole * self.batch].view(-1, self.batch)

    def validate(self, validation: Mapping[int, Packed]) -> dict[int, Loss]:
        """The completions' loss by level; the clock stands meanwhile.

        Gradients stay on, though none are taken, and each process has as many rows at a time as in training: else the
        compiled step would be compiled a second time.
        """
        found = {}
        for level, packed in sorted(validation.items()):
            here = packed.to(self.device)
            total, count = 0.0, 0.0
            for start in range(0, len(here), self.batch):
                rows = torch.arange(start, start + self.batch, device=self.device)[ranks.share(self.batch)]
                inside = (rows < len(here))[:, None]
                rows = rows.clamp(max=len(here) - 1)
                counts = (here.kinds[rows][:, 1:] == ANSWER) & inside
                losses = self.step.token_losses(here, rows).detach()
                total += float((losses * counts).sum())
                count += float(counts.sum())
            total, count = (sum(parts) for parts in zip(*ranks.gathered((total, count)), strict=True))
            bits = total / math.log(2) / max(packed.text, 1)
            found[level] = Loss(total / max(count, 1.0), bits, total / max(packed.documents, 1))
        self._start()
        return found

    # -- figures

    def rate(self) -> float:
        """Tokens a second since the clock was last started; the GPU is waited for."""
        if self.device == "cuda":
            torch.cuda.synchronize()
        seconds = max(time.monotonic() - self._begin, 1e-3)
        return (self.progress.step - self._first) * self.batch * self.train.ids.shape[1] / seconds

    def utilisation(self, rate: float) -> float | None:
        """Share of what the GPU can do in bfloat16."""
        if self.device != "cuda":
            return None
        major, minor = torch.cuda.get_device_capability()
        hardware = HARDWARE.get(f"sm_{major}{minor}")
        return rate * self.flops / (hardware.float16 * ranks.count()) if hardware else None

    def _report(self, loss: float, share: float) -> None:
        rate = self.rate()
        used = self.utilisation(rate)
        epoch = self.progress.step * self.batch / len(self.train)
        text = f"step {self.progress.step}  {share:.0%}  epoch {epoch:.2f}  loss {loss:.4f}  {rate:,.0f} tokens/s"
        log.info("%s%s", text, "" if used is None else f"  {used:.0%} of the bf16 rate")

    def refuse_nonsense(self) -> None:
        """Raise UserError if the last loss is not a number: such weights are neither kept nor trained on."""
        if not math.isfinite(self.last.item()):
            raise UserError(
                f"the loss is {self.last.item()} at step {self.progress.step}; begin again with a lower --lr"
            )

    # -- checkpoints

    def due(self) -> bool:
        """Whether it is time for a checkpoint."""
        return self.progress.seconds - self._saved >= 60 * self.recipe.save_minutes

    def _terms(self) -> dict[str, object]:
        """What must be the same for a checkpoint to go on; the time may be another."""
        recipe = {key: value for key, value in asdict(self.recipe).items() if key not in ("minutes", "save_minutes")}
        return {**recipe, "rows": list(self.train.ids.shape), "parameters": self.model.num_parameters()}

    def save(self, path: Path) -> None:
        """Write weights, optimiser and place to a file, whole or not at all; of several processes the first does."""
        self._saved = self.progress.seconds
        self.refuse_nonsense()
        if not ranks.is_first():
            return
        state = {
            "terms": self._terms(),
            "progress": asdict(self.progress),
            **self.optimizers.state_dict(),
        }
        partial = path.with_name(path.name + ".partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except (OSError, RuntimeError) as error:  # torch's writer turns what the system said into the latter
            _sweep(path)
            reason = str(error).splitlines()[0]
            raise UserError(f"no room for a checkpoint at {path} ({reason}); the last one is kept") from error
        log.info("step %d: checkpoint %s", self.progress.step, path)

    def restore(self, path: Path) -> None:
        """Go on from a file that `save` wrote; raises UserError if it is of another model, data or recipe."""
        state = torch.load(path, map_location=self.device, weights_only=True)
        if state["terms"] != self._terms():
            changed = {key for key, value in self._terms().items() if state["terms"].get(key) != value}
            raise UserError(f"{path} is of another training ({', '.join(sorted(changed))}); remove it to begin anew")
        self.optimizers.load_state_dict(state)
        self.progress = Progress(**state["progress"])
        self._saved = self.progress.seconds
        self._start()
        log.info("going on from step %d, %.1f minutes in", self.progress.step, self.progress.seconds / 60)


def _sweep(checkpoint: Path) -> None:
    """Remove a checkpoint that was being written when an earlier run was killed."""
    checkpoint.with_name(checkpoint.name + ".partial").unlink(missing_ok=True)


def _by_level(losses: Mapping[int, Loss]) -> str:
    shown = (
        f"level {level}: {loss.token:.4f} a token, {loss.document:.2f} a completion" for level, loss in losses.items()
    )
    return "validation  " + "; ".join(shown)


def write_outcome(outcome: Outcome, path: Path) -> None:
    """Keep the figures beside the model, as JSON."""
    path.write_text(json.dumps(asdict(outcome), indent=1) + "\n")
