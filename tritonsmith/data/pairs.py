"""Verified pairs of a SPEC's tasks in one JSONL file, as `sft.data = "graphs:..."` asks for them.

Answers come from our own lowering and are made here, while the verifier is busy with those before. For the larger
thing, from many sources in many processes into a data set with splits, see `build`.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tritonsmith import jsonl
from tritonsmith.data import work
from tritonsmith.data.rows import Row
from tritonsmith.data.split import told
from tritonsmith.data.store import Answer
from tritonsmith.progress import bar
from tritonsmith.prompts import Style, as_asked, messages, render_completion
from tritonsmith.types import Candidate, Task
from tritonsmith.verify.pool import Job, Verifier

log = logging.getLogger(__name__)

SOURCE = "templates"
"""Who answers, by its name among `sources.SOURCES`."""


def write_pairs(tasks: Sequence[Task], verifier: Verifier, path: Path, style: Style = "bare") -> list[Row]:
    """The pairs of those tasks that have a correct answer, in their order, kept in a JSONL file as they are found.

    What the file holds already is not judged again; a task that left no row is tried again by a second call. `style`
    is one of `prompts.messages`.
    """
    return kept_rows(tasks, path, lambda missing: _verified(missing, verifier, style), "pairs")


def kept_rows(
    tasks: Sequence[Task], path: Path, make: Callable[[Sequence[Task]], Iterator[Row | None]], title: str
) -> list[Row]:
    """The rows of tasks, in their order: those that a file holds, and what `make` gives for the others, added to it.

    `make` gives a row or None for each task, in any order, and `title` is what its progress goes under.
    """
    wanted = {task.id for task in tasks}
    known = {one.task: one for one in read_pairs(path) if one.task in wanted}
    if missing := [task for task in tasks if task.id not in known]:
        with bar(title, len(missing)) as advance:
            for fresh in make(missing):
                if fresh is not None:
                    jsonl.append(path, fresh.model_dump_json())
                    known[fresh.task] = fresh
                advance(1)
    return [known[task.id] for task in tasks if task.id in known]


def read_pairs(path: Path) -> list[Row]:
    """The rows of a file that `kept_rows` wrote; empty where there is none."""
    return [Row.model_validate(fields) for fields in jsonl.read(path)]


def row(task: Task, answer: Answer, style: Style = "bare") -> Row:
    """A task and an answer as a row, judged or not."""
    return Row(
        prompt=messages(task, style),
        completion=[{"role": "assistant", "content": render_completion(answer.plan, answer.code)}],
        task=task.id,
        graph=told(task),
    )


def _verified(tasks: Sequence[Task], verifier: Verifier, style: Style) -> Iterator[Row | None]:
    """A row for each task, in the order in which verdicts come; None for one that has no right answer."""
    asked: list[tuple[Task, Answer]] = []
    missed = 0

    def jobs() -> Iterator[Job]:
        nonlocal missed
        for task in tasks:
            _, (answer,) = work.convert(as_asked(task, style), [SOURCE])
            if answer.kind == "candidate":
                asked.append((task, answer))
                yield task, Candidate(task=task.id, source=answer.code)
            else:
                missed += 1
                log.debug("no answer to %s: %s", task.id, answer.reason)

    for index, verdict in verifier.stream(jobs()):
        yield row(*asked[index], style) if verdict.correct else None
    yield from [None] * missed
