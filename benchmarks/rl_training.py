"""What a run of `rl.py` does: its tasks, its evaluation's answers and their judging, training by one method.

What comes of it is in `rl_results`.
"""

import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import cast

from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from tritonsmith import evaluate, jsonl
from tritonsmith.config import Config, ExtensionsConfig, VerifyConfig
from tritonsmith.progress import Watched, bar
from tritonsmith.tasks.format import load_spec
from tritonsmith.tasks.graphs.graph import Graph
from tritonsmith.train import best_of_n, grpo, leakage, models
from tritonsmith.train.policy import Drawer
from tritonsmith.types import Task
from tritonsmith.verify.pool import Verifier

log = logging.getLogger(__name__)

POINTS = ("start", "half", "end")
SETS = ("deep", "level1")
SEATS = 2
"""Candidates that one judge process has under way: a fifth of judging is its own Python, one thread at a time."""
LEVELS, SHARES = 7, {"p_min": 0.4, "p_max": 0.9}
"""The curriculum's levels, of two operators at most to eight and more, and what share goes on from each to the next:
the documents' 0.1 to 0.5 are of two levels, and of seven the last would have 1.6 % at most."""
LONGEST = 236
"""Letters of a SPEC in a file's name: with a hash and an ending that is 255 at most."""


class Method(StrEnum):
    """How the model is trained."""

    best_of_n = "best_of_n"
    grpo = "grpo"


# -- tasks


def file_name(spec: str) -> str:
    """A SPEC as a file's name; of a long one, which no file system takes, the beginning and a hash."""
    name = "".join(c if c.isalnum() or c in "-=" else "_" for c in spec)
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}-{sha256(spec.encode()).hexdigest()[:12]}"


def drawn(spec: str, workers: int) -> list[Task]:
    """The tasks of a SPEC; of several kinds of graphs each is drawn in a process of its own, `workers` at once."""
    parts = [part.strip() for part in spec.split(",")]
    if min(workers, len(parts)) == 1 or not all(part.startswith("graphs:") for part in parts):
        return load_spec(spec)
    context = get_context("forkserver")
    context.set_forkserver_preload([load_spec.__module__])
    found: dict[str, Task] = {}
    with ProcessPoolExecutor(min(workers, len(parts)), context) as pool, bar("tasks", len(parts)) as advance:
        for some in pool.map(load_spec, parts):
            for task in some:
                found.setdefault(task.id, task)
            advance(1)
    return list(found.values())


def tasks_of(folder: Path, specs: Mapping[str, str], workers: int = 1) -> dict[str, list[Task]]:
    """The tasks by name; those of deep graphs take a while to draw, so they are kept in `folder`, by SPEC.

    With training's among them, raises UserError where one of these is held out.
    """
    found: dict[str, list[Task]] = {}
    folder.mkdir(parents=True, exist_ok=True)
    for name, spec in specs.items():
        path = folder / f"{file_name(spec)}.jsonl"
        if not path.exists():
            partial = path.with_suffix(f".{os.getpid()}")
            partial.write_text("".join(f"{task.model_dump_json()}\n" for task in drawn(spec, workers)))
            partial.replace(path)
        found[name] = [Task.model_validate(row) for row in jsonl.read(path)]
    for name in SETS if "train" in found else ():
        leakage.check(found["train"], found[name], "--train")
    return found


def by_operators(tasks: Sequence[Task]) -> list[Task]:
    """The tasks, the level of each being how many operators its graph has beyond the first, 1 at least."""
    known = depths(tasks)
    return [
        task.model_copy(update={"level": max(1, known[task.id] - 1)}) if task.id in known else task for task in tasks
    ]


def depths(tasks: Sequence[Task]) -> dict[str, int]:
    """Operators of each task that has a graph."""
    return {task.id: Graph.parse(task.graph).depth for task in tasks if task.graph is not None}


# -- evaluation


@dataclass
class Evaluation:
    """Greedy answers of one run's models to the held-out tasks, and what became of them."""

    out: Path
    config: Config
    tasks: Mapping[str, Sequence[Task]]
    drawer: Drawer | None = None

    def path(self, point: str, name: str) -> Path:
        """Where the records are."""
        return self.out / "eval" / point / f"{name}.jsonl"

    def draw(self, point: str, model: Path) -> None:
        """Draw what is missing of one point's answers."""
        for name in SETS:
            known = {row.get("task") for row in jsonl.read(self.path(point, name).with_suffix(".completions.jsonl"))}
            if all(task.id in known for task in self.tasks[name]):
                continue
            self.drawer = self.drawer or Drawer(self.config)
            out = self.path(point, name).with_suffix(".completions.jsonl")
            evaluate.draw(self.drawer.of(model), self.tasks[name], self.config.eval, out)

    def judge(self, points: Sequence[str], workers: int, cache: Path | None) -> None:
        """Judge what is drawn and not judged, with all kinds of inputs (extension 1)."""
        judges = max(1, workers // SEATS)
        settings = VerifyConfig(device="cpu", timing=False, workers=workers, judges=judges, cache=cache)
        with Verifier(settings, extensions=ExtensionsConfig(multi_input=True)) as verifier:
            for point in points:
                for name in SETS:
                    out = self.path(point, name)
                    drawn = jsonl.read(out.with_suffix(".completions.jsonl"))
                    drafts = {(str(row["task"]), cast(int, row["sample"])): str(row["completion"]) for row in drawn}
                    wanted = [(task, 0) for task in self.tasks[name] if (task.id, 0) in drafts]
                    if len(wanted) < len(self.tasks[name]):
                        log.warning("%s: %d of %d were drawn", out, len(wanted), len(self.tasks[name]))
                    evaluate.judged(wanted, drafts, Watched(verifier), out, f"eval/{point}/{name}")


# -- training


class Halfway(TrainerCallback):
    """Keeps the model as it is when half of the time is spent."""

    def __init__(self, out: Path, minutes: float) -> None:
        self.out, self.minutes = out, minutes

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        """Save it once."""
        if spent(self.out / "grpo") < self.minutes / 2 or (self.out / "half").exists():
            return
        partial = self.out / "half.partial"
        model, tokenizer = kwargs["model"], kwargs["processing_class"]
        models.save(cast(PreTrainedModel, model), cast(PreTrainedTokenizerBase, tokenizer), partial)
        (partial / "when.json").write_text(json.dumps({"minutes": spent(self.out / "grpo")}))
        partial.rename(self.out / "half")


def steps_of(folder: Path) -> list[dict[str, float]]:
    """The lines that the trainer's clock wrote, the last one of each step."""
    rows = [cast("dict[str, float]", row) for row in jsonl.read(folder / "steps.jsonl")]
    return list({row["step"]: row for row in rows}.values())


def spent(folder: Path) -> float:
    """Minutes of training so far."""
    return sum(cast(float, row["seconds"]) for row in jsonl.read(folder / "steps.jsonl")) / 60


def train_best_of_n(config: Config, tasks: Sequence[Task], verifier: Verifier, minutes: float) -> dict[str, Path]:
    """Rounds until the time is up; gives the models half way and at the end."""
    out = config.run.dir / "rl"
    end = best_of_n.train(config, tasks, verifier, None, minutes=minutes)
    seconds, half = 0.0, end
    for row in reversed(steps_of(out)):
        folder = out / f"round-{int(row['step']):02d}" / "model"
        seconds += row["seconds"]
        if seconds >= 60 * spent(out) / 2:
            half = folder if folder.exists() else half
            break
    return {"half": half, "end": end}


def train_grpo(config: Config, tasks: Sequence[Task], verifier: Verifier, minutes: float) -> dict[str, Path]:
    """Steps until the time is up; gives the models half way and at the end."""
    out = config.run.dir
    end = out / "grpo" / "model"
    if not end.exists():
        grpo.train(config, tasks, verifier, None, minutes=minutes, callbacks=[Halfway(out, minutes)])
    return {"half": out / "half" if (out / "half").exists() else end, "end": end}


TRAINERS: dict[Method, Callable[[Config, Sequence[Task], Verifier, float], dict[str, Path]]] = {
    Method.best_of_n: train_best_of_n,
    Method.grpo: train_grpo,
}
