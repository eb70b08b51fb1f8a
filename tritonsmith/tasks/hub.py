"""Rows of other people's data sets: a hub id, a clone of its repository, or a file, through `datasets`.

Knows no data set by name: what the columns mean is for `kernelbench` and `kernelbook`. JSONL is read line by line, so
that a torn row costs itself only; local Parquet is streamed, so that nothing is copied into a cache.
"""

import json
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

from tritonsmith.tasks.format import TaskError, one_line
from tritonsmith.types import Task

logger = logging.getLogger(__name__)

Row: TypeAlias = Mapping[str, object]

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_BUILDERS = {".parquet": "parquet", ".json": "json", ".csv": "csv", ".arrow": "arrow"}


@dataclass(frozen=True)
class Skipped:
    """A row that is no task for us."""

    name: str
    """Which one: its id as far as it has one, or its place."""
    reason: str
    """A few words, the same for the same cause."""


def rows(where: str) -> Iterator[Row | Skipped]:
    """Every row of every split, in order. Raises TaskError, in one line, where there are none to be had."""
    path = Path(where)
    try:
        if path.suffix == ".jsonl" and path.is_file():
            yield from _lines(path)
        elif path.is_dir() and (files := sorted(path.glob("*.jsonl"))) and not list(path.rglob("*.parquet")):
            for file in files:
                yield from _lines(file)
        else:
            yield from _through_datasets(where, path)
    except TaskError:
        raise
    except UnicodeDecodeError as error:
        raise TaskError(f"{where} is not a text file") from error
    except (OSError, ValueError) as error:  # no network, no such id, no permission; pyarrow's are ValueErrors
        raise TaskError(f"cannot read {where}: {one_line(error)}") from error


def _lines(path: Path) -> Iterator[Row | Skipped]:
    with path.open() as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                row = None
            yield row if isinstance(row, dict) else Skipped(f"{path.name}:{number}", "no JSON object")


def _through_datasets(where: str, path: Path) -> Iterator[Row]:
    import datasets

    loud = datasets.logging.get_verbosity()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)  # what it would say is raised too, and told once
    try:
        yield from _opened(where, path)
    finally:
        datasets.logging.set_verbosity(loud)


def _opened(where: str, path: Path) -> Iterator[Row]:
    import datasets

    if path.is_dir() and ((path / "dataset_dict.json").exists() or (path / "state.json").exists()):
        found = datasets.load_from_disk(where)
    elif path.is_dir():
        found = datasets.load_dataset(where, streaming=True)
    elif path.is_file():
        if path.suffix not in _BUILDERS:
            raise TaskError(f"{where}: give a folder, a hub id, or a file that ends in .jsonl, {', '.join(_BUILDERS)}")
        found = datasets.load_dataset(_BUILDERS[path.suffix], data_files=where, streaming=True)
    elif _HUB_ID.fullmatch(where):
        found = datasets.load_dataset(where)
    else:
        raise TaskError(f"{where}: no such file or folder, and no hub id (owner/name)")
    parts = [found[name] for name in sorted(found)] if isinstance(found, dict) else [found]
    for part in parts:
        yield from cast(Iterable[Row], part)


def text(row: Row, column: str) -> str:
    """A column that must hold text; raises TaskError where it does not."""
    value = row.get(column)
    if not isinstance(value, str) or not value.strip():
        raise TaskError(f"no text in column {column}")
    return value


def number(row: Row, column: str) -> int | None:
    """A column that may hold a whole number."""
    value = row.get(column)
    return value if isinstance(value, int) else None


def tasks(spec: str, found: Iterable[Task | Skipped]) -> list[Task]:
    """The tasks among them; those skipped are counted in the log. Raises TaskError where no task is left."""
    kept: list[Task] = []
    reasons: Counter[str] = Counter()
    for one in found:
        if isinstance(one, Task):
            kept.append(one)
        else:
            reasons[one.reason] += 1
    told = "; ".join(f"{count} x {reason}" for reason, count in reasons.most_common(4))
    if not kept:
        raise TaskError(f"{spec}: no tasks there" + (f" ({told})" if told else ""))
    if reasons:
        logger.warning("%s: %d tasks, %d rows skipped (%s)", spec, len(kept), reasons.total(), told)
    return kept
