"""Verified pairs a second, and the yield of each source of answers: `tritonsmith data build` from nothing.

    python benchmarks/data.py [--pairs 200] [--sources templates,inductor] [--tasks graphs] [--workers N]
                              [--inputs as-given] [--assemble never] [--isolation pooled]

Counts everything: the start of the processes, drawing, asking the sources, judging on all variants, writing. CPU
seconds are those of all processes, so they tell what a pair costs on a machine that has other work too; those of a pair
once all processes are warm tell what a long build makes on 16 such cores. Cheapest is `--sources templates --tasks
graphs:sizes=small --inputs as-given --assemble never --isolation pooled`: one kind of inputs, kernels that pass the
compiler's front end alone, and runners that serve several candidates. Writes to a temporary folder, or to --out, where
a build may be gone on with.
"""

import contextlib
import math
import tempfile
import threading
import time
from pathlib import Path
from typing import Literal

import psutil
import typer
from commands import start
from rich.console import Console
from rich.table import Table

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.cores import cores
from tritonsmith.data.build import build
from tritonsmith.data.census import Census


class Clock:
    """CPU seconds of this process and all below it, the ended ones included, while it runs."""

    def __init__(self, cold: int) -> None:
        """`cold`: answers until which processes are taken for starting."""
        self.seconds = 0.0
        self.warm = self.right = self.first = 0.0
        """Seconds when the processes were warm; right answers in all, and until then."""
        self._cold = cold
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Clock":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def made(self, right: int) -> None:
        """Count right answers as they come."""
        self.right += right
        self._cold -= 1
        if self._cold == 0:
            self._look()
            self.warm, self.first = self.seconds, self.right

    def each(self) -> float:
        """CPU seconds of a right answer beside those of the start; NaN where the start is all there was."""
        made = self.right - self.first
        return (self.seconds - self.warm) / made if self.first and made else math.nan

    def _watch(self) -> None:
        while not self._over.wait(1.0):
            self._look()

    def _look(self) -> None:
        me, total = psutil.Process(), 0.0
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
    inputs: Literal["all", "as-given"] = "all",
    assemble: Literal["first", "right", "never"] = "first",
    isolation: Literal["process", "pooled"] = "process",
    out: Path | None = None,
) -> None:
    """Build, and print; 0 workers stand for as many as cores."""
    width = workers or cores()
    with tempfile.TemporaryDirectory() as folder, Clock(cold=3 * width) as clock:
        began = time.perf_counter()
        census = build(
            out or Path(folder), pairs, tasks=tasks, sources=sources.split(","), seed=seed, contrastive=contrastive,
            processes=width,
            verify=VerifyConfig(device="cpu", timing=False, assemble=assemble, isolation=isolation),
            extensions=ExtensionsConfig(multi_input=inputs == "all"), made=clock.made,
        )  # fmt: skip
        seconds = time.perf_counter() - began
    made, each = sum(census.rows.values()), clock.each()
    console = Console()
    console.print(f"{made} rows in {seconds:.0f} s with {width} processes of each kind: {made / seconds:.2f} a second")
    console.print(f"{clock.right:.0f} right answers, {clock.seconds / max(clock.right, 1):.2f} CPU seconds each")
    console.print(
        f"without the start ({clock.warm:.0f} CPU seconds, the first {clock.first:.0f} with it) {each:.2f}: 20,000 on "
        f"16 such cores in {20_000 * each / 16 / 60:.0f} minutes, {16 * 600 / each:,.0f} in ten (extrapolated)"
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
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(main)
    start(app)
