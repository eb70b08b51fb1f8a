"""Verified pairs a second, and the yield of each source of answers: `tritonsmith data build` from nothing.

    python benchmarks/data.py [--pairs 200] [--sources templates,inductor] [--tasks graphs] [--workers N]

Counts everything: the start of the processes, drawing, asking the sources, judging on all variants, writing. CPU
seconds are those of all processes, so they tell what a pair costs on a machine that has other work too, and what
20,000 pairs would take on 16 such cores. Writes to a temporary folder, or to --out, where a build may be gone on with.
"""

import contextlib
import tempfile
import threading
import time
from pathlib import Path

import psutil
import typer
from rich.console import Console
from rich.table import Table

from tritonsmith.cores import cores
from tritonsmith.data.build import build
from tritonsmith.data.census import Census


class Clock:
    """CPU seconds of this process and all below it, the ended ones included, while it runs."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Clock":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._over.wait(1.0):
            total = 0.0
            for process in [me, *me.children(recursive=True)]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    times = process.cpu_times()
                    total += times.user + times.system + times.children_user + times.children_system
            self.seconds = max(self.seconds, total)


def main(
    pairs: int = 200,
    sources: str = "inductor,templates",
    tasks: str = "graphs",
    seed: int = 0,
    workers: int = 0,
    contrastive: bool = False,
    out: Path | None = None,
) -> None:
    """Build, and print; 0 workers stand for as many as cores."""
    width = workers or cores()
    with tempfile.TemporaryDirectory() as folder, Clock() as clock:
        began = time.perf_counter()
        census = build(
            out or Path(folder), pairs, tasks=tasks, sources=sources.split(","), seed=seed, contrastive=contrastive,
            processes=width,
        )  # fmt: skip
        seconds = time.perf_counter() - began
    made, right = sum(census.rows.values()), sum(one.correct for one in census.sources.values())
    console = Console()
    console.print(f"{made} rows in {seconds:.0f} s with {width} processes of each kind: {made / seconds:.2f} a second")
    each = clock.seconds / max(right, 1)
    minutes = 20_000 * each / 16 / 60
    console.print(
        f"{right} right answers, {each:.2f} CPU seconds each: 20,000 on 16 such cores in {minutes:.0f} minutes"
    )
    console.print(_sources(census))
    console.print(_stages(census))
    console.print(f"dropped: {census.dropped or 'none'}; shared between splits: {census.leaks}")
    if any(census.leaks.values()):
        raise SystemExit("the splits overlap")


def _sources(census: Census) -> Table:
    columns = ("source", "asked", "missed", "failed", "candidates", "correct", "of asked", "s to make", "s to judge")
    table = Table(*columns, title="yield of each source; seconds are wall-clock, a task and a candidate")
    for name, one in census.sources.items():
        missed, failed = sum(one.misses.values()), sum(one.failures.values())
        counts = map(str, (one.asked, missed, failed, one.candidates, one.correct))
        seconds = (one.seconds / max(one.asked, 1), one.judged_seconds / max(one.candidates, 1))
        table.add_row(name, *counts, f"{one.correct / max(one.asked, 1):.1%}", *(f"{value:.2f}" for value in seconds))
        for reason, count in sorted({**one.misses, **one.failures, **one.rejections}.items(), key=lambda x: -x[1])[:8]:
            table.add_row(f"  {reason[:48]}", "", "", "", str(count))
    return table


def _stages(census: Census) -> Table:
    table = Table("stage", "mean seconds", title="a right candidate in the verifier, wall-clock")
    for name, seconds in census.stages.items():
        table.add_row(name, f"{seconds:.3f}")
    return table


if __name__ == "__main__":
    typer.run(main)
