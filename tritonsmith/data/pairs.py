"""Verified template pairs of synthetic tasks in one JSONL file, as `sft.data = "synthetic:..."` asks for them.

For the larger thing, from many sources into a data set with splits, see `build`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from tritonsmith import jsonl
from tritonsmith.data import templates
from tritonsmith.data.rows import Row
from tritonsmith.prompts import Style, messages, render_completion
from tritonsmith.types import Candidate, Task, Verdict


class Judges(Protocol):
    """The part of `verify.pool.Verifier` that is needed here."""

    def verify_many(
        self, jobs: Sequence[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        """The verdicts in order; `on_verdict(index, verdict)` as each one ends."""
        ...


def row(task: Task, style: Style = "bare") -> Row:
    """The unverified pair of a synthetic task; style as in `prompts.messages`."""
    answer = templates.pair(task)
    return Row(
        prompt=messages(task, style),
        completion=[{"role": "assistant", "content": render_completion(answer.plan, answer.source)}],
        task=task.id,
        graph=task.graph or "",
    )


def verified_pairs(
    tasks: Sequence[Task],
    verifier: Judges,
    on_pair: Callable[[Row], None] | None = None,
    style: Style = "bare",
) -> list[Row]:
    """The pairs of those tasks whose answer is correct, in the order of the tasks.

    `on_pair` is called as each one is found correct, in the order in which that happens.
    """

    def judged(index: int, verdict: Verdict) -> None:
        if verdict.correct and on_pair:
            on_pair(row(tasks[index], style))

    jobs = [(task, Candidate(task=task.id, source=templates.pair(task).source)) for task in tasks]
    verdicts = verifier.verify_many(jobs, on_verdict=judged)
    return [row(task, style) for task, verdict in zip(tasks, verdicts, strict=True) if verdict.correct]


def write_pairs(tasks: Sequence[Task], verifier: Judges, path: Path, style: Style = "bare") -> list[Row]:
    """Like `verified_pairs`, kept in a JSONL file: what it holds already is not judged again.

    A task that was rejected leaves no row, so a second call judges it again.
    """
    wanted = {task.id for task in tasks}
    known = {one.task: one for one in read_pairs(path) if one.task in wanted}
    missing = [task for task in tasks if task.id not in known]
    fresh = verified_pairs(missing, verifier, lambda one: jsonl.append(path, one.model_dump_json()), style)
    known |= {one.task: one for one in fresh}
    return [known[task.id] for task in tasks if task.id in known]


def read_pairs(path: Path) -> list[Row]:
    """The rows of a file that `write_pairs` wrote; empty where there is none."""
    return [Row.model_validate(fields) for fields in jsonl.read(path)]
