"""The suite's hand-written kernels on tasks of gigabytes, all at once: which right ones are refused, and for what.

    python benchmarks/together.py [--device cuda] [--gigabytes 6] [--workers 16] [--only norm]

Each task's dimensions are grown together as far as its reference holds so much at once, no tensor has more elements
than offsets of 32 bits tell apart, and its products stay within `MOST_WORK`; the kernels are those of `examples/`.
Every variant and timing are included. Fails if a right kernel is refused. Nothing is kept.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import typer
from commands import start
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.tasks.dry import runs_without_data
from tritonsmith.tasks.format import load_spec
from tritonsmith.tasks.variants import larger
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.reference.footprint import footprint
from tritonsmith.verify.reference.peak import peak

KERNELS = Path(__file__).parents[1] / "examples" / "kernels"
GROWTHS = tuple(1.25**step for step in range(40, 0, -1))
MOST_ELEMENTS, MOST_WORK = (1 << 31) - 1, 4e12
"""Elements of the largest tensor, and operations of the products: float32 kernels take some tenths of a second."""

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, help=__doc__)


def grown(task: Task, most: float) -> Task:
    """The task at the largest of the sizes that take up to `most` bytes; as it is where none does."""
    for growth in GROWTHS:
        one = larger(task, growth)
        held, work = peak(one), footprint(one)
        if held is None or work is None or not held.whole:
            continue
        small = held.most <= most and held.largest <= MOST_ELEMENTS and work.flops <= MOST_WORK
        if small and runs_without_data(one):
            return one
    return task


def why(verdict: Verdict) -> str:
    """What is held against a kernel, in a line."""
    told = [f"{finding.rule}: {finding.message.splitlines()[0]}" for finding in verdict.findings[:1]]
    told += [f"{verdict.mismatch.variant}: {verdict.mismatch.message}"] if verdict.mismatch else []
    return "; ".join(told)[:160]


def jobs(only: str, most: float) -> Iterator[tuple[Task, Candidate]]:
    """Each task that has a kernel, grown, beside it."""
    for task in load_spec("suite"):
        file = KERNELS / f"{task.id}.py"
        if only in task.id and file.exists():
            yield grown(task, most), Candidate(task=task.id, source=file.read_text())


@app.command()
def main(
    device: Literal["auto", "cpu", "cuda"] = "auto", gigabytes: float = 6.0, workers: int = 0, only: str = ""
) -> None:
    """Judge and print."""
    console = Console(width=140)
    asked = list(jobs(only, gigabytes * 1e9))
    held = [found.most / 1e9 if (found := peak(task)) else 0.0 for task, _ in asked]
    settings = VerifyConfig.model_validate({"device": device, "workers": workers or None})
    verdicts: dict[int, Verdict] = {}
    began = time.perf_counter()
    with Verifier(settings, extensions=ExtensionsConfig(multi_input=True)) as verifier, Progress() as bar:
        shown = bar.add_task("verdicts", total=len(asked))
        for index, verdict in verifier.stream(iter(asked)):
            verdicts[index] = verdict
            bar.advance(shown)
    seconds = time.perf_counter() - began
    table = Table("task", "GB held at once", "seconds", "speedup", "refused for")
    for index, verdict in sorted(verdicts.items()):
        speedup = f"{verdict.speedup.median:.2f}x" if verdict.speedup else ""
        table.add_row(verdict.task, f"{held[index]:.1f}", f"{verdict.seconds:.1f}", speedup, why(verdict))
    console.print(table)
    refused = sum(not verdict.correct for verdict in verdicts.values())
    console.print(f"{len(verdicts)} kernels, {sum(held):.0f} GB, {seconds:.0f} s; refused: {refused}")
    if refused:
        raise SystemExit(1)


if __name__ == "__main__":
    start(app)
