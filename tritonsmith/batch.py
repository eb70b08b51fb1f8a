"""Judges a JSONL of candidates into a JSONL of verdicts; stopped at any point, the same call goes on.

A row is known by its task, its sample and its text; the verdicts' file is the only state, and is of one set of tasks,
settings and versions. One process at a time writes it. Rows are read when their turn comes, and their keys alone are
kept, so a file of them may be larger than memory.
"""

import fcntl
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from tritonsmith import extract, jsonl, reward
from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.errors import UserError
from tritonsmith.progress import bar
from tritonsmith.tasks.format import load_spec
from tritonsmith.types import Candidate, Task
from tritonsmith.verify import cache
from tritonsmith.verify.pool import Job, Verifier, choose_device, gpu_names


class Row(BaseModel):
    """One candidate as a user writes it."""

    model_config = ConfigDict(extra="ignore")

    task: str
    sample: int = 0
    completion: str | None = None
    source: str | None = None

    def candidate(self) -> Candidate:
        """The candidate; code is extracted where a completion is given."""
        source = self.source if self.source is not None else extract.extract(self.completion or "").source
        return Candidate(task=self.task, sample=self.sample, source=source, completion=self.completion)

    def key(self) -> str:
        """The same for the same candidate, whatever run it is judged in."""
        return _digest(json.dumps([self.task, self.sample, self.source, self.completion]))


@dataclass
class Counts:
    """What became of a file's rows."""

    total: int
    known: int
    judged: int
    correct: int


def verify_file(candidates: Path, spec: str, out: Path, settings: VerifyConfig, extensions: ExtensionsConfig) -> Counts:
    """Judge every row of `candidates` that `out` does not hold yet.

    Raises UserError for a row that is none, before anything is judged, where another process writes `out`, and where
    that holds verdicts on other tasks or under other settings.
    """
    if out.resolve() == candidates.resolve():
        raise UserError(f"{out} holds the candidates: say another file for the verdicts")
    tasks = {task.id: task for task in load_spec(spec)}
    device = choose_device(settings.device)
    under = cache.circumstances(settings, extensions, device, gpu_names(settings, device))
    with _alone(out):
        known: dict[str, bool] = {}
        for row in jsonl.read(out):
            if "key" in row and "correct" in row:
                _same(out, row, tasks, under)
                known[str(row["key"])] = bool(row["correct"])
        keys = [row.key() for row in _rows(candidates, tasks)]
        todo = set(keys) - known.keys()
        counts = Counts(len(keys), sum(key in known for key in keys), len(todo), 0)
        if todo:
            with bar("verify", len(todo)) as advance:
                _judge(_waiting(candidates, tasks, todo), out, settings, extensions, known, under, advance)
        counts.correct = sum(known[key] for key in keys)
    return counts


def _judge(
    rows: Iterator[tuple[str, Job]],
    out: Path,
    settings: VerifyConfig,
    extensions: ExtensionsConfig,
    known: dict[str, bool],
    under: str,
    advance: Callable[[int], None],
) -> None:
    names: dict[int, tuple[str, str]] = {}

    def jobs() -> Iterator[Job]:
        for index, (key, job) in enumerate(rows):
            names[index] = key, _digest(job[0].source)
            yield job

    with Verifier(settings, extensions=extensions, score=reward.score) as verifier:
        for index, verdict in verifier.stream(jobs()):
            key, task = names.pop(index)
            jsonl.append(out, json.dumps({"key": key, "under": under, "of": task, **verdict.model_dump(mode="json")}))
            known[key] = verdict.correct
            advance(1)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _same(out: Path, row: Mapping[str, object], tasks: Mapping[str, Task], under: str) -> None:
    """Raise UserError where a verdict on file is not what would be found now."""
    if row.get("under", under) != under:
        raise UserError(f"{out} holds verdicts under other settings or versions: give another --out")
    task = tasks.get(str(row.get("task")))
    if task is not None and row.get("of", _digest(task.source)) != _digest(task.source):
        raise UserError(f"{out} holds verdicts on another task {task.id}: give another --out")


def _waiting(path: Path, tasks: dict[str, Task], todo: set[str]) -> Iterator[tuple[str, Job]]:
    left = set(todo)
    for row in _rows(path, tasks):
        if (key := row.key()) in left:
            left.remove(key)
            yield key, (tasks[row.task], row.candidate())


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Hold the verdicts' file; the kernel lets go of it whatever this process dies of."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(f"{out}: another process writes to it") from error
        yield


def _rows(path: Path, tasks: dict[str, Task]) -> Iterator[Row]:
    with path.open(errors="replace") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = Row.model_validate_json(line)
            except ValidationError as error:
                raise UserError(f"{path}:{number}: {error.errors()[0]['msg']}") from error
            if row.completion is None and row.source is None:
                raise UserError(f'{path}:{number}: a row holds "completion" or "source"')
            if row.task not in tasks:
                raise UserError(f"{path}:{number}: task {row.task!r} is not among --tasks")
            yield row
