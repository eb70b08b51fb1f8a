"""Judges a JSONL of candidates into a JSONL of verdicts; stopped at any point, the same call goes on.

A row is known by its task, its sample and its text; the verdicts' file is the only state.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tritonsmith import extract, jsonl, reward
from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.errors import UserError
from tritonsmith.tasks.format import load_spec
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify.pool import Verifier


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
        text = json.dumps([self.task, self.sample, self.source, self.completion])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass
class Counts:
    """What became of a file's rows."""

    total: int
    known: int
    judged: int
    correct: int


def verify_file(candidates: Path, spec: str, out: Path, settings: VerifyConfig, extensions: ExtensionsConfig) -> Counts:
    """Judge every row of `candidates` that `out` does not hold yet; raises UserError for a row that is none."""
    tasks = {task.id: task for task in load_spec(spec)}
    rows = _rows(candidates, tasks)
    known = {str(row["key"]): bool(row["correct"]) for row in jsonl.read(out) if "key" in row and "correct" in row}
    todo = list({row.key(): row for row in rows if row.key() not in known}.values())
    already = sum(row.key() in known for row in rows)
    jobs = [(tasks[row.task], row.candidate()) for row in todo]
    console = Console(stderr=True)
    columns = TextColumn("verify"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with (
        Progress(*columns, console=console, disable=not console.is_terminal) as progress,
        Verifier(settings, extensions=extensions, score=reward.score) as verifier,
    ):
        bar = progress.add_task("verify", total=len(jobs))

        def keep(index: int, verdict: Verdict) -> None:
            known[todo[index].key()] = verdict.correct
            jsonl.append(out, json.dumps({"key": todo[index].key(), **verdict.model_dump(mode="json")}))
            progress.advance(bar)

        verifier.verify_many(jobs, keep)
    return Counts(len(rows), already, len(todo), sum(known[row.key()] for row in rows))


def _rows(path: Path, tasks: dict[str, Task]) -> list[Row]:
    rows = []
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
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
        rows.append(row)
    return rows
