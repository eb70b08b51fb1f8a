"""Conversations that teach a model to mend: a wrong answer of its own, what the verifier said of it, a right answer.

A model that has only ever seen tasks makes nothing of feedback (`benchmarks/turns.md`). The wrong answers are those
that a run or an evaluation recorded; the right one to follow is the most alike of those known for the task, so that
what changes is what was wrong. Bugs planted into right answers give more of them (`planted`), and none of a model's own
habits. Does not say how such rows are mixed with others.
"""

import logging
import random
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from pathlib import Path

from pydantic import ValidationError

from tritonsmith import evaluate
from tritonsmith.data.mutate import mutate
from tritonsmith.data.rows import Row
from tritonsmith.data.split import told
from tritonsmith.errors import UserError
from tritonsmith.extract import extract
from tritonsmith.progress import bar
from tritonsmith.prompts import Message, Style, messages, replied
from tritonsmith.types import Candidate, Record, Task
from tritonsmith.verify.pool import Job, Verifier

log = logging.getLogger(__name__)


def recorded(path: Path) -> list[Record]:
    """What a file of records holds; raises UserError for another file."""
    try:
        return evaluate.read(path)
    except ValidationError as error:
        raise UserError(f"{path} holds no records of answers: {error.errors()[0]['msg']}") from error


def repairs(
    records: Iterable[Record],
    tasks: Mapping[str, Task],
    style: Style,
    *,
    answers: Mapping[str, str] | None = None,
    most: int = 4,
) -> list[Row]:
    """A row for each distinct wrong first answer, `most` a task at most, and one for each right answer they lead to.

    The latter ask for the task alone, so that a first turn is not forgotten for a second. `answers` are further right
    completions by task, verified elsewhere; a task without any right one, or that is not among `tasks`, gives no row.
    Nor do records of a task in another writing, which has the same id and other names.
    """
    right: dict[str, dict[str, None]] = {name: {text: None} for name, text in (answers or {}).items()}
    wrong: dict[str, dict[str, Record]] = {}
    left = 0
    for record in records:
        if record.writing and record.task in tasks and record.writing != tasks[record.task].writing:
            left += 1
            continue
        if record.verdict.correct:
            right.setdefault(record.task, {})[record.completion] = None
        elif record.turn == 1:
            wrong.setdefault(record.task, {}).setdefault(record.completion, record)
    if left:
        log.warning("%d records are left out: they answer tasks in another writing than the SPEC gives", left)
    rows: list[Row] = []
    for name, failures in wrong.items():
        if name not in tasks or name not in right:
            continue
        task, known = tasks[name], list(right[name])
        asked, used = messages(task, style), dict[str, None]()
        for failure in list(failures.values())[:most]:
            answer = max(known, key=lambda text: likeness(failure.completion, text))
            used[answer] = None
            rows.append(_row(task, replied(asked, failure.completion, failure.verdict), answer))
        rows += [_row(task, asked, answer) for answer in used]
    return rows


def planted(
    answers: Mapping[str, str], tasks: Mapping[str, Task], verifier: Verifier, *, most: int, seed: int = 0
) -> list[Record]:
    """Right answers (completions by task) with a bug each, up to `most` of a task, judged; some turn out to be right.

    The same bugs again under the same seed.
    """
    wrong: list[Job] = [
        (tasks[name], one) for name, answer in answers.items() for one in _bugs(name, answer, most, seed)
    ]
    records: list[Record] = []
    with bar("planted bugs", len(wrong)) as advance:
        for index, verdict in verifier.stream(iter(wrong)):
            records.append(evaluate.recorded(*wrong[index], verdict, "planted"))
            advance(1)
    return records


def _bugs(name: str, answer: str, most: int, seed: int) -> Iterator[Candidate]:
    """A right answer with one bug, again and again, each another one."""
    source, rng = extract(answer).source, random.Random(f"{seed} {name}")
    seen = {source}
    for _ in range(most if source and answer.count(source) == 1 else 0):
        bug = mutate(source or "", rng)
        if bug is not None and bug.source not in seen:
            seen.add(bug.source)
            completion = answer.replace(source or "", bug.source)
            yield Candidate(task=name, sample=len(seen) - 2, completion=completion, source=bug.source)


def likeness(one: str, other: str) -> float:
    """How much of two texts is the same, line by line, from 0 to 1 (Ratcliff and Obershelp's, as difflib has it)."""
    return SequenceMatcher(None, one.splitlines(), other.splitlines(), autojunk=False).ratio()


def _row(task: Task, prompt: list[Message], answer: str) -> Row:
    said = [{"role": "assistant", "content": answer}]
    return Row(prompt=prompt, completion=said, task=task.id, graph=told(task))
