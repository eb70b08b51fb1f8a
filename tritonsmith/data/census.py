"""What a build is made of, counted in one pass: rows by everything that matters, yields of the sources with reasons.

Plain data for the card, the page and a terminal; draws nothing.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from tritonsmith.data.rows import PairRow, reason
from tritonsmith.data.store import Made


class Yield(BaseModel):
    """What became of the tasks that a source was asked about."""

    model_config = ConfigDict(extra="forbid")

    asked: int = 0
    candidates: int = 0
    correct: int = 0
    seconds: float = 0.0
    """Asking the source, over all tasks."""
    judged_seconds: float = 0.0
    """Judging its candidates."""
    misses: dict[str, int] = Field(default_factory=dict)
    rejections: dict[str, int] = Field(default_factory=dict)
    failures: dict[str, int] = Field(default_factory=dict)


class Census(BaseModel):
    """A build in numbers."""

    model_config = ConfigDict(extra="forbid")

    tasks: int = 0
    """Writings that were asked about."""
    graphs: int = 0
    """Graphs with at least one row."""
    rows: dict[str, int] = Field(default_factory=dict)
    """By split."""
    by: dict[str, dict[str, dict[str, int]]] = Field(default_factory=dict)
    """Rows by `level`, `depth`, `family`, `source`, `operator` (rows that hold it), and value, and split."""
    sources: dict[str, Yield] = Field(default_factory=dict)
    stages: dict[str, float] = Field(default_factory=dict)
    """Mean seconds a right candidate spends in each stage of the verifier."""
    dropped: dict[str, int] = Field(default_factory=dict)
    """Right answers that are no rows, by why."""
    planted: dict[str, int] = Field(default_factory=dict)
    """Planted bugs by kind, and those of them that the verifier found."""
    found: dict[str, int] = Field(default_factory=dict)
    leaks: dict[str, int] = Field(default_factory=dict)
    characters: list[tuple[int, int]] = Field(default_factory=list)
    """Of prompt and completion, for up to 4,096 rows."""


_LENGTHS = 4096


@dataclass
class Counting:
    """Counts tasks and rows as they go by."""

    tasks: int = 0
    graphs: set[str] = field(default_factory=set)
    rows: Counter[str] = field(default_factory=Counter)
    by: defaultdict[str, defaultdict[str, Counter[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(Counter))
    )
    yields: defaultdict[str, Yield] = field(default_factory=lambda: defaultdict(Yield))
    stages: Counter[str] = field(default_factory=Counter)
    right: int = 0
    planted: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    characters: list[tuple[int, int]] = field(default_factory=list)

    def task(self, made: Made) -> None:
        """Count a task and what its sources gave."""
        self.tasks += 1
        for answer in made.answers:
            correct = answer.verdict is not None and answer.verdict.correct
            if answer.planted and answer.verdict is None:
                continue
            if answer.planted:
                self.planted[answer.planted] += 1
                self.found[answer.planted] += not correct
                continue
            own = self.yields[answer.source]
            own.asked += 1
            own.seconds += answer.seconds
            if answer.kind != "candidate":
                _add(own.misses if answer.kind == "miss" else own.failures, answer.reason)
            if answer.verdict is None:
                continue
            own.candidates += 1
            own.judged_seconds += answer.verdict.seconds
            if not correct:
                _add(own.rejections, reason(answer.verdict))
                continue
            own.correct += 1
            self.right += 1
            for stage in answer.verdict.stages:
                self.stages[stage.name] += stage.seconds  # pyright: ignore[reportArgumentType]

    def row(self, row: PairRow) -> None:
        """Count a row."""
        self.graphs.add(row.graph)
        self.rows[row.split] += 1
        values = {"level": str(row.level), "depth": str(row.depth), "family": row.family, "source": row.source}
        for key, value in values.items():
            self.by[key][value][row.split] += 1
        for operator in set(row.operators):
            self.by["operator"][operator][row.split] += 1
        if len(self.characters) < _LENGTHS:
            prompt = sum(len(message["content"]) for message in row.prompt)
            self.characters.append((prompt, sum(len(message["content"]) for message in row.completion)))

    def census(self) -> Census:
        """The numbers."""
        return Census(
            tasks=self.tasks,
            graphs=len(self.graphs),
            rows=dict(self.rows),
            by={key: {value: dict(counts) for value, counts in values.items()} for key, values in self.by.items()},
            sources=dict(self.yields),
            stages={name: round(seconds / max(self.right, 1), 4) for name, seconds in self.stages.items()},
            planted=dict(self.planted),
            found=dict(self.found),
            characters=self.characters,
        )


def read(out: Path) -> Census:
    """The census of a finished build."""
    return Census.model_validate_json((out / "census.json").read_text())


def _add(counts: dict[str, int], key: str) -> None:
    counts[key] = counts.get(key, 0) + 1
