"""Who has the GPU when, simulated: how many candidates a second are judged where timing has it alone.

    python benchmarks/taking_turns.py

Candidates of `throughput.py`'s mix go through sections of three kinds: of a core's time; of the GPU, shared, each the
slower the more share it; and, once for each that is right, alone on it: nobody new shares from the moment on that this
is wanted, and it begins when the last of those who share are done, as in `process/turnstile.py`. In some rows calls are
recorded meanwhile (`first`) and asked about thereafter (`after`), without waiting for leave to share. Lengths are those
of a log of one H200 beside 16 cores (`verifier.md`); that a sharer slows the others by `SLOWER` is fitted. What was
measured, too, says what the others are worth. Nothing is written.
"""

import heapq
import itertools
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import typer
from rich.console import Console
from rich.table import Table

CANDIDATES = 1500
KINDS = {"static": 0.30, "compile": 0.20, "wrong": 0.15, "right": 0.35}
SECTION, SPREAD = 8.5e-3, 0.9
"""Seconds of a section alone on the GPU, in the mean, and the standard deviation of its logarithm."""
SLOWER = 0.28
"""Times its own length that a section takes longer for each that shares the GPU with it."""
ALONE = 0.033
"""Seconds of a timing, in the mean; it takes 0.6 to 1.4 of that."""
BETWEEN = 2e-3
"""Seconds between two sections of one candidate."""

Step = tuple[str, float]
"""`core`, `shared`, `first` or `after`, and the seconds that it takes with nobody beside; or `alone`, whose are drawn
when it begins."""


@dataclass(frozen=True)
class Way:
    """A way to share the GPU."""

    workers: int = 16
    sharers: int | None = None
    """How many may share it, if that is limited."""
    batch: int = 1
    """How many must want it alone before it is emptied for them,"""
    patience: float = 0.0
    """or for how many seconds the first of them waits for others."""
    alone: float = ALONE
    section: float = SECTION
    sections: tuple[int, int, int, int] = (8, 18, 6, 4)
    """How many a right candidate has: at small sizes, at its own, before it is timed and after that."""
    first: float = 0.0
    """Seconds for which it shares the GPU once nobody new may,"""
    after: float = 0.0
    """and once it was timed, both with nobody beside."""


@dataclass
class Simulation:
    """One run; `seconds` is the time until all candidates are judged."""

    way: Way
    draw: random.Random
    seconds: float = 0.0
    spent: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Seconds for which the GPU was had alone, was being emptied, was shared, or had by nobody."""
    _later: list[tuple[float, int, int, str]] = field(default_factory=list)
    _order: Iterator[int] = field(default_factory=itertools.count)
    _steps: dict[int, Iterator[Step]] = field(default_factory=dict)
    _sharing: dict[int, float] = field(default_factory=dict)
    """What is left of each section."""
    _wanting: list[tuple[int, float]] = field(default_factory=list)
    _waiting: list[int] = field(default_factory=list)
    _firsts: list[tuple[int, float]] = field(default_factory=list)
    """Who is to share the GPU before it is alone there, and has not begun to."""
    _closing: set[int] = field(default_factory=set)
    """Who lets nobody new share it for that reason."""
    _since: float = 0.0
    _had: bool = False
    _emptied: bool = False
    _done: int = 0
    _begun: int = 0

    def run(self) -> "Simulation":
        """Judge all candidates."""
        for worker in range(self.way.workers):
            self._begin(worker)
        while self._done < CANDIDATES:
            self._admit()
            self._advance()
        return self

    def _plan(self) -> Iterator[Step]:
        kind = self.draw.choices([*KINDS], [*KINDS.values()])[0]
        yield "core", self._long({"static": 0.02, "compile": 0.10}.get(kind, 0.25))
        small, own, before, later = self.way.sections
        parts = {"wrong": [(small - 2, 0.05)], "right": [(small, 0.12), (own, 0.05), (before, 0.0)]}
        for sections, core in parts.get(kind, []):
            yield from self._sections(sections)
            yield "core", self._long(core)
        if kind == "right":
            if self.way.first:
                yield "first", self.way.first
            yield "alone", 0.0
            if self.way.after:
                yield "after", self.way.after
            yield from self._sections(later)

    def _sections(self, count: int) -> Iterator[Step]:
        for _ in range(count):
            yield "core", BETWEEN
            yield "shared", self.draw.lognormvariate(-(SPREAD**2) / 2, SPREAD) * self.way.section

    def _long(self, seconds: float) -> float:
        return seconds * (0.5 + 0.5 * self.draw.expovariate(1.0))

    def _begin(self, worker: int) -> None:
        if self._begun < CANDIDATES:
            self._begun += 1
            self._steps[worker] = self._plan()
            self._go_on(worker)

    def _go_on(self, worker: int) -> None:
        kind, seconds = next(self._steps[worker], ("", 0.0))
        if kind == "core":
            heapq.heappush(self._later, (self.seconds + seconds, next(self._order), worker, kind))
        elif kind == "shared":
            self._wanting.append((worker, seconds))
        elif kind == "after":
            self._sharing[worker] = seconds
        elif kind == "first":
            self._closing.add(worker)
            self._firsts.append((worker, seconds))
        elif kind == "alone":
            self._since = self._since if self._waiting else self.seconds
            self._waiting.append(worker)
        else:
            self._done += 1
            self._begin(worker)

    @property
    def _closed(self) -> bool:
        enough = len(self._waiting) >= self.way.batch or self.seconds - self._since >= self.way.patience
        return bool(self._closing) or (bool(self._waiting) and (enough or self._emptied))

    def _admit(self) -> None:
        if self._had:
            return
        self._emptied = self._closed
        self._sharing |= dict(self._firsts)
        self._firsts.clear()
        if self._emptied and self._waiting and not self._sharing:
            self._had = True
            ends = self.seconds + self.way.alone * self.draw.uniform(0.6, 1.4)
            heapq.heappush(self._later, (ends, next(self._order), self._waiting.pop(0), "alone"))
        while not self._emptied and self._wanting and len(self._sharing) < (self.way.sharers or self.way.workers):
            worker, seconds = self._wanting.pop(0)
            self._sharing[worker] = seconds

    def _advance(self) -> None:
        """Go to the next end of a section, or of somebody's patience."""
        rate = 1 / (1 + SLOWER * (len(self._sharing) - 1)) if self._sharing else 0.0
        first = min(self._sharing, key=self._sharing.__getitem__, default=None)
        ends = self.seconds + self._sharing[first] / rate if first is not None else float("inf")
        later = self._later[0][0] if self._later else float("inf")
        patient = self._waiting and not self._had and not self._closed
        until = min(ends, later, self._since + self.way.patience + 1e-9 if patient else float("inf"))
        gone = until - self.seconds
        state = "alone" if self._had else "emptied" if self._emptied else "shared" if self._sharing else "nobody"
        self.spent[state] += gone
        self._sharing = {worker: left - gone * rate for worker, left in self._sharing.items()}
        self.seconds = until
        if until == ends and first is not None:
            del self._sharing[first]
            self._go_on(first)
        elif until == later:
            _, _, worker, kind = heapq.heappop(self._later)
            if kind == "alone":
                self._had = False
                self._closing.discard(worker)
            self._go_on(worker)


_RECORDED = Way(sections=(4, 18, 3, 0), first=0.012, after=0.012)
_FINER = replace(_RECORDED, sections=(8, 36, 6, 0), section=SECTION / 2)
ROWS: list[tuple[str, Way, str]] = [
    ("16 workers", Way(), "18.2"),
    ("24 workers", Way(24), "17.7"),
    ("32 workers", Way(32), "16.7"),
    ("16, of whom 2 share at most", Way(16, sharers=2), "12.7"),
    ("16, of whom 3 share at most", Way(16, sharers=3), "14.4"),
    ("24, of whom 4 share at most", Way(24, sharers=4), "15.5"),
    ("16, emptied for two, or after 0.1 s", Way(16, batch=2, patience=0.1), ""),
    ("16, emptied for three, or after 0.2 s", Way(16, batch=3, patience=0.2), ""),
    ("16, timings of 20 ms", Way(16, alone=0.020), ""),
    ("16, sections of 0.7 of their length", Way(16, section=0.7 * SECTION), ""),
    ("16, sections of half their length", Way(16, section=0.5 * SECTION), ""),
    ("24, sections of half their length", Way(24, section=0.5 * SECTION), ""),
    ("16, small sizes on the host", Way(sections=(4, 18, 6, 4)), "20.2 to 22.3"),
    ("16, and calls recorded while it is emptied", _RECORDED, "19.6 to 22.0"),
    ("24, likewise", replace(_RECORDED, workers=24), "17.5"),
    ("16, likewise, timings of 20 ms", replace(_RECORDED, alone=0.020), ""),
    ("24, likewise, twice the sections of half the length", replace(_FINER, workers=24), ""),
]


def main(seed: int = 0) -> None:
    """Simulate and print."""
    table = Table("", "candidates/s", "measured", "alone", "being emptied", "shared")
    for name, way, measured in ROWS:
        found = Simulation(way, random.Random(seed)).run()
        shares = [f"{found.spent[state] / found.seconds:.0%}" for state in ("alone", "emptied", "shared")]
        table.add_row(name, f"{CANDIDATES / found.seconds:.1f}", measured, *shares)
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
