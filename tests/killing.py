"""A training run that kills itself at a given moment, as `test_killed` starts it in a process of its own.

The model is random and writes no kernels: a third of what it writes is taken for a right answer, by its letters, all
else is what it is. Everything beyond is real: draws, the verifier and its processes, records, training, checkpoints.
"""

import json
import os
import signal
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, cast

import torch
from transformers import AutoTokenizer, Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from tritonsmith import config as configuration
from tritonsmith import jsonl, reward
from tritonsmith.config import Config, VerifyConfig
from tritonsmith.curriculum import Curriculum
from tritonsmith.data.lower.convert import convert, templates
from tritonsmith.data.pair import Pair
from tritonsmith.evaluate import Judge
from tritonsmith.prompts import render_completion
from tritonsmith.tasks import graphs
from tritonsmith.train import best_of_n, grpo, policy, rewarding, trainer
from tritonsmith.train.desk import Address, Far
from tritonsmith.train.generate import Draw, Sampler
from tritonsmith.train.models import NANO
from tritonsmith.types import Task, Verdict
from tritonsmith.verify.pool import Verifier

Phase = Literal["sampling", "verification", "training", "checkpointing"]
PHASES: tuple[Phase, ...] = ("sampling", "verification", "training", "checkpointing")
COURSE = "course.jsonl"
"""What each step of GRPO came to: the curriculum and a sum of the weights."""


def tasks() -> list[Task]:
    """Four, on two levels."""
    simple = graphs.generate(2, seed=0, depth=(1, 1), families=["pointwise"])
    return simple + graphs.generate(2, seed=0, depth=(2, 2), families=["pointwise"])


def die() -> None:
    """End this process as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def written(task: Task, text: str) -> str:
    """What stands for a completion."""
    mark = zlib.crc32(text.encode())
    if mark % 3:
        return text
    answer = cast(Pair, convert(task))
    return render_completion(answer.plan, f"# {mark}\n{answer.source}")


def _score(verdict: Verdict, *_: object, **__: object) -> float:
    """Something to learn from where all are wrong."""
    return float(verdict.correct) + 0.1 * verdict.sample


def train_grpo(config: Config, judge: Judge, phase: Phase | None) -> None:
    """Run GRPO, killed in the second step's second turn, in the verification of the fourth, in the fifth's training, or
    when the last checkpoint is being written."""
    own = {task.id: task for task in tasks()}
    add = rewarding.Batch.add
    made: list[Curriculum] = []

    def scripted(self: rewarding.Batch, place: int, text: str) -> None:
        if phase == "sampling" and self.step == 1 and place % config.grpo.turns:
            die()
        add(self, place, written(own[self._tasks[place]], text))

    def keeping(curriculum: Callable[..., Curriculum], *given: object) -> Curriculum:
        made.append(curriculum(*given))
        return made[-1]

    class Course(TrainerCallback):
        def on_step_end(
            self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
        ) -> None:
            weights = sum(
                float(one.detach().double().abs().sum()) for one in cast(torch.nn.Module, kwargs["model"]).parameters()
            )
            row = {"step": state.global_step, "curriculum": made[0].state_dict(), "weights": weights}
            jsonl.append(config.run.dir / COURSE, json.dumps(row))

    rewarding.Batch.add = scripted
    reward.score = _score
    grpo.Curriculum.from_config = partial(keeping, Curriculum.from_config)
    _die_at(phase, lambda path, line: path.name == "records.jsonl" and json.loads(line)["step"] == 3, 4, 6)
    grpo.train(config, tasks(), judge, None, callbacks=[Course()])


def short_and_long() -> list[Task]:
    """One whose answer is short, and one whose answer is long."""
    return [*tasks()[:1], *graphs.generate(1, seed=0, depth=(4, 4))]


def between() -> int:
    """Tokens of nano's that the short answer fits into, and the long one does not."""
    tokenizer = AutoTokenizer.from_pretrained(NANO)
    pairs = [templates(task) for task in short_and_long()]
    texts = [render_completion(pair.plan, pair.source) for pair in pairs if isinstance(pair, Pair)]
    short, long = (len(ids) for ids in tokenizer(texts)["input_ids"])
    return (short + long) // 2


def train_nano(config: Config, judge: Judge, phase: Phase | None) -> None:
    """Run GRPO with what nano really writes, killed in the second step's training."""
    _die_at(phase, lambda path, line: False, 1, 2)
    grpo.train(config, short_and_long(), judge, None)


class Scripted(Sampler):
    """Draws with the model."""

    def sample(self, messages: list, n: int, *rest: object, **named: object) -> list[list[str]]:
        """What stands for what was drawn."""
        by_source = {task.source.strip(): task for task in tasks()}
        own = [by_source[chat[0]["content"]] for chat in messages]
        given = list(rest)
        told = cast(Callable[[list[Draw]], None], given[5])
        given[5] = lambda draws: told([(chat, which, written(own[chat], text)) for chat, which, text in draws])
        texts = super().sample(messages, n, *given, **named)  # type: ignore[arg-type]
        return [[written(task, text) for text in row] for task, row in zip(own, texts, strict=True)]


def train_best_of_n(config: Config, judge: Judge, phase: Phase | None) -> None:
    """Run best-of-N, killed in the first round's sampling, in its second turn's verification, in its training, or when
    a checkpoint of the second round is being written."""
    policy.Sampler = Scripted
    count = 0

    def mark(path: Path, line: str) -> bool:
        nonlocal count
        count += path.name == ("records.completions.jsonl" if phase == "sampling" else "records.turn2.jsonl")
        return count == 3 and "round-00" in str(path)

    _die_at(phase, mark, 1, 2)
    best_of_n.train(config, tasks(), judge, None)


def _die_at(phase: Phase | None, line_of: Callable[[Path, str], bool], step: int, saved: int) -> None:
    """Arrange for death at half of a line, while a step is trained, or before a checkpoint is whole."""
    append, train, mark = jsonl.append, Trainer.training_step, trainer.MarkWhole.on_save

    def torn(path: Path, *lines: str) -> None:
        fatal = [line for line in lines if phase in ("sampling", "verification") and line_of(path, line)]
        if fatal:
            before = lines[: lines.index(fatal[0])]
            path.open("a").write("".join(f"{line}\n" for line in before) + fatal[0][: len(fatal[0]) // 2])
            die()
        append(path, *lines)

    def training(self: Trainer, *given: object, **named: object) -> torch.Tensor:
        loss = train(self, *given, **named)  # type: ignore[arg-type]
        if phase == "training" and self.state.global_step == step:
            die()
        return loss

    def saving(
        self: trainer.MarkWhole, args: TrainingArguments, state: TrainerState, control: TrainerControl, **rest: object
    ) -> None:
        if phase == "checkpointing" and state.global_step == saved:
            die()
        mark(self, args, state, control, **rest)

    jsonl.append, Trainer.training_step, trainer.MarkWhole.on_save = torn, training, saving


def main(method: str, path: Path, phase: Phase | None, desk: Address) -> None:
    """Run in a process of one's own; one that is to be killed while it judges has judges of its own, else the desk's
    will do."""
    torch.set_num_threads(1)
    trainer.quiet()
    train = {"grpo": train_grpo, "best_of_n": train_best_of_n, "nano": train_nano}[method]
    if phase != "verification":
        train(configuration.load(path), Far(desk), phase)
        return
    with Verifier(VerifyConfig(device="cpu", timing=False)) as judge:
        train(configuration.load(path), judge, phase)
