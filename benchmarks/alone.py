"""What a timed candidate has the GPU alone for: the turns of both sides, calls as a user sees them; needs a GPU.

    python benchmarks/alone.py [--candidates 128] [--workers 8]

The candidates are those of benchmarks/throughput.py, judged by one process, whose methods are clocked from here.
Printed, in the mean of a timed candidate: milliseconds alone, those of each part, those that the timed calls themselves
took on the device (without what is overwritten and called between them), turns, trials, and calls in a trial. Nothing
is written.
"""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
import typer
from rich.console import Console
from throughput import mix

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.verify.measure import Reference, Turns
from tritonsmith.verify.pool import Verifier

spent: Counter[str] = Counter()
"""Seconds and counts by part, of all candidates."""


def clocked(part: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """A method whose calls are counted and clocked; only who has the GPU alone calls one of these."""

    def wrapped(self: Any, number: int) -> Any:  # noqa: ANN401
        start = time.perf_counter()
        found = method(self, number)
        spent[part] += time.perf_counter() - start  # type: ignore[assignment]
        if isinstance(found, list):
            repeats = self.repeats if isinstance(self, Reference) else self._repeats
            spent["timed calls on the device"] += 1e-3 * repeats * sum(found)  # type: ignore[assignment]
            spent["turns"] += 1
            spent["trials"] += number
            spent["calls"] += number * repeats
        return found

    return wrapped


def main(candidates: int = 128, workers: int = 8) -> None:
    """Measure and print."""
    if not torch.cuda.is_available():
        raise SystemExit("benchmarks/alone.py needs a GPU")
    parts = {
        "reference's turns": (Reference, "block"),
        "candidate's turns": (Turns, "block"),
        "calls as a user sees them, reference": (Reference, "wall"),
        "calls as a user sees them, candidate": (Turns, "wall"),
    }
    for part, (kind, name) in parts.items():
        setattr(kind, name, clocked(part, getattr(kind, name)))
    settings = VerifyConfig(device="cuda", isolation="pooled", workers=workers, judges=1)
    with Verifier(settings, extensions=ExtensionsConfig()) as verifier:
        verdicts = verifier.verify_many(job for _, job in mix(candidates))
        alone = verifier.use().alone
    timed = sum(verdict.timing is not None for verdict in verdicts)
    console = Console()
    console.print(
        f"{timed} of {candidates} timed, {workers} workers; alone {1e3 * alone / timed:.1f} ms each, of these"
    )
    for part in (*parts, "timed calls on the device"):
        console.print(f"  {part}: {1e3 * spent[part] / timed:.1f} ms")
    turns, trials = spent["turns"] / 2 / timed, spent["trials"] / 2 / timed
    console.print(f"{turns:.2f} turns, {trials:.1f} trials of {spent['calls'] / spent['trials']:.2f} calls a side")


if __name__ == "__main__":
    typer.run(main)
