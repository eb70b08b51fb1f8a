"""Writes a build down as a data set: Parquet a split, wrong candidates, a card and the census; all from the shards.

Files appear whole or not at all, and a call with nothing new writes the same ones again. Rows go through memory in
parts, so a build may be larger than memory.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from datasets import Dataset, Features, List, Value
from datasets.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
from pydantic import BaseModel

from tritonsmith import jsonl
from tritonsmith.data import card, choose
from tritonsmith.data.census import Census, Counting
from tritonsmith.data.rows import SPLITS, Split
from tritonsmith.data.store import Settings, Store, said
from tritonsmith.data.suite import of_suite

PART = 10_000
"""Rows a Parquet file."""

_TEXT, _NUMBER = Value("string"), Value("int32")
_MESSAGES = List({"role": _TEXT, "content": _TEXT})
FEATURES = Features(
    {
        "prompt": _MESSAGES,
        "completion": _MESSAGES,
        "task": _TEXT,
        "graph": _TEXT,
        "level": _NUMBER,
        "depth": _NUMBER,
        "family": _TEXT,
        "operators": List(_TEXT),
        "style": _NUMBER,
        "source": _TEXT,
        "plan": _TEXT,
        "kernel": _TEXT,
        "module": _TEXT,
        "split": _TEXT,
        "form": _TEXT,
        "verdict": {
            "correct": Value("bool"),
            "stage": _TEXT,
            "reason": _TEXT,
            "message": _TEXT,
            "kernels": _NUMBER,
            "registers": _NUMBER,
            "spills": _NUMBER,
            "seconds": Value("float32"),
        },
    }
)
"""The columns of a row; those of `rows.PairRow`."""
CONTRASTIVE = Features({**FEATURES, "planted": _TEXT, "right": _TEXT})


class _Parts:
    """Rows of one table on their way into files."""

    def __init__(self, folder: Path, stem: str, features: Features) -> None:
        self.folder, self.stem, self.features = folder, stem, features
        self.written = 0
        self._rows: list[dict[str, object]] = []

    def add(self, row: BaseModel) -> None:
        self._rows.append(row.model_dump())
        if len(self._rows) == PART:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            path = self.folder / f"{self.stem}-{self.written // PART:05d}.parquet"
            with said(path), _quiet():
                Dataset.from_list(self._rows, features=self.features).to_parquet(path)
            self.written += len(self._rows)
            self._rows = []


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the bars of `datasets`."""
    shown = not are_progress_bars_disabled()
    disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            enable_progress_bars()


def count(store: Store, suite: frozenset[str]) -> tuple[int, tuple[int, int]]:
    """Rows that the answers so far make, and chunk and place of the last task that is done; (-1, -1) if none is."""
    chooser, last, rows = choose.Chooser(suite), (-1, -1), 0
    for made in store.all():
        rows += len(chooser.chosen(made))
        last = made.item.chunk, made.item.place
    return rows, last


def export(store: Store, settings: Settings, suite: frozenset[str], n: int | None) -> Census:
    """Write the first `n` rows, or all, with everything that describes them; returns the census."""
    partial = store.out / ".data.partial"
    shutil.rmtree(partial, ignore_errors=True)
    with said(partial):
        partial.mkdir(parents=True)
    counting, chooser = Counting(), choose.Chooser(suite)
    pairs = {split: _Parts(partial, split, FEATURES) for split in SPLITS}
    wrong = _Parts(partial, "contrastive", CONTRASTIVE)
    seen: list[tuple[Split, str, str, str, bool]] = []
    for made in store.all():
        if n is not None and len(seen) >= n:
            break
        counting.task(made)
        known = of_suite(made.item.task, made.survey.form, suite)
        for answer in chooser.chosen(made)[: None if n is None else n - len(seen)]:
            row = choose.row(made, answer)
            counting.row(row)
            pairs[row.split].add(row)
            seen.append((row.split, row.graph, answer.program, made.survey.writing, known))
        if settings.contrastive and not known and not chooser.elsewhere(made):
            for other in choose.contrastive_rows(made):
                wrong.add(other)
    for parts in (*pairs.values(), wrong):
        parts.flush()
    census = counting.census()
    census.dropped = dict(chooser.dropped)
    census.leaks = vars(choose.leaks(seen))
    with said(store.out):
        _replace(partial, store.out / "data")
        jsonl.write(store.out / "census.json", census.model_dump_json())
        jsonl.write(store.out / "README.md", card.render(census, settings))
    return census


def _replace(new: Path, old: Path) -> None:
    """Put a folder in another one's place."""
    gone = old.with_name(f".{old.name}.old")
    shutil.rmtree(gone, ignore_errors=True)
    if old.exists():
        old.rename(gone)
    new.rename(old)
    shutil.rmtree(gone, ignore_errors=True)
