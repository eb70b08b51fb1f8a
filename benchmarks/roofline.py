"""The roofline's predicted speedups beside measured ones, over the suite's hand-written kernels.

    python benchmarks/roofline.py [--only PART] [--out ROWS.json]

Each kernel is judged twice in this process: with device=cpu, whose timing stage predicts from counted bytes, operations
and launches, and with device=cuda, which measures. Printed are both, Spearman's rank correlation, the worst misses with
what the prediction was made of, and the share of the hardware that each kind of library kernel reached, from which
`verify.roofline.Efficiency` is set. Without a GPU there are predictions only, and no claim is made.
"""

import json
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np
import torch
import typer
from rich.console import Console
from rich.table import Table

from tritonsmith.config import VerifyConfig
from tritonsmith.tasks.format import load_spec
from tritonsmith.types import Candidate, Task, Timing, Verdict
from tritonsmith.verify import roofline
from tritonsmith.verify.pool import Verifier

KERNELS = Path(__file__).resolve().parents[1] / "examples" / "kernels"
WANTED = 0.8
"""Spearman's correlation that the prediction must reach."""
ENOUGH = 60
"""Kernels with both figures, without which a correlation says little."""


@dataclass(frozen=True)
class Row:
    """One kernel."""

    task: str
    kinds: str
    """What the reference consists of, such as `matmul+2 stream`."""
    launches: int
    predicted: Timing
    measured: Timing | None

    @property
    def miss(self) -> float:
        """How many times the prediction is too high (above 1) or too low."""
        return self.predicted.speedup.median / self.measured.speedup.median if self.measured else 1.0


def judge(jobs: list[tuple[Task, Candidate]], device: str, console: Console) -> dict[str, Verdict]:
    """The verdicts by task; says which kernels were refused."""
    with Verifier(VerifyConfig.model_validate({"device": device, "policy": "strict"})) as verifier:
        verdicts = {verdict.task: verdict for verdict in verifier.verify_many(jobs)}
    for verdict in verdicts.values():
        if not verdict.correct or verdict.timing is None or not verdict.timing.candidate_ms:
            why = verdict.stages[-1].detail if verdict.stages else "nothing ran"
            console.print(f"{verdict.task} has no time on {device}: {why}", markup=False)
    return verdicts


def rows(tasks: dict[str, Task], predicted: dict[str, Verdict], measured: dict[str, Verdict]) -> list[Row]:
    """Kernels with a prediction, and with a measurement where there is one."""
    found = []
    for id, verdict in predicted.items():
        other = measured.get(id)
        if verdict.timing is None or (measured and (other is None or other.timing is None)):
            continue
        launches = sum(kernel.launches for kernel in verdict.kernels)
        found.append(Row(id, _kinds(tasks[id]), launches, verdict.timing, other.timing if other else None))
    return found


def spearman(one: list[float], other: list[float]) -> float:
    """Rank correlation: Pearson's of the ranks, ties sharing the mean of theirs (Spearman 1904)."""
    return float(np.corrcoef(_ranks(one), _ranks(other))[0, 1])


def _ranks(values: list[float]) -> np.ndarray:
    given = np.asarray(values)
    _, place, count = np.unique(given, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return (last - (count - 1) / 2)[place]


def _kinds(task: Task) -> str:
    found = roofline.footprint(task)
    kinds = [cost.kind for cost in found.costs] if found else []
    return "+".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))


def reached(tasks: dict[str, Task], found: list[Row], target: str) -> dict[str, list[float]]:
    """Share of the hardware's limit that single-operator references and single-launch products reached, by kind."""
    ideal = roofline.Efficiency(bandwidth={}, float32={}, float16={}, dot_float32=1.0, dot_float16=1.0)
    hardware = roofline.HARDWARE[target]
    shares: dict[str, list[float]] = defaultdict(list)
    for row in found:
        real = roofline.footprint(tasks[row.task])
        if row.measured is None or real is None:
            continue
        if len(real.costs) == 1:
            seconds = 1e-3 * row.measured.reference_ms - hardware.launch
            best = roofline.reference_seconds(real, target, ideal) - hardware.launch
            shares[f"library {real.costs[0].kind}"].append(best / max(seconds, hardware.launch))
        seconds = 1e-3 * row.measured.candidate_ms - row.launches * hardware.launch
        products = real.flops / hardware.float32 > real.floor_bytes / hardware.bandwidth
        best = real.flops / hardware.float32 if products else (row.predicted.bytes_moved or 0) / hardware.bandwidth
        share = best / max(seconds, hardware.launch)
        if share < 1.2 or not products:  # more would mean that the candidate found a way around the products
            shares["candidate " + ("tl.dot" if products else "stream")].append(share)
    return shares


def _print(console: Console, found: list[Row]) -> None:
    table = Table("task", "reference", "launches", "predicted ms", "measured ms", "predicted", "measured", "miss")
    for row in sorted(found, key=lambda row: -row.predicted.speedup.median):
        guess, real = row.predicted, row.measured
        table.add_row(
            row.task,
            row.kinds,
            str(row.launches),
            f"{guess.reference_ms:.3f} / {guess.candidate_ms:.3f}",
            f"{real.reference_ms:.3f} / {real.candidate_ms:.3f}" if real else "",
            f"{guess.speedup.median:.2f}x",
            f"{real.speedup.median:.2f}x" if real else "",
            f"{row.miss:.2f}" if real else "",
        )
    console.print(table)


def _misses(console: Console, found: list[Row], count: int = 10) -> None:
    table = Table(
        "task", "miss", "reference off by", "candidate off by", "launches", "MB", "GFLOP", title="worst misses"
    )
    for row in sorted(found, key=lambda row: -abs(np.log(row.miss)))[:count]:
        guess, real = row.predicted, row.measured
        if real is not None:
            table.add_row(
                row.task,
                row.kinds,
                f"{row.miss:.2f}",
                f"{guess.reference_ms / real.reference_ms:.2f}",
                f"{guess.candidate_ms / real.candidate_ms:.2f}",
                f"{(guess.bytes_moved or 0) / real.bytes_moved:.2f}" if real.bytes_moved else "?",
                str(row.launches),
                f"{(guess.bytes_moved or 0) / 1e6:.0f}",
                f"{(guess.flops or 0) / 1e9:.1f}",
            )
    console.print(table)


def main(only: str = "", out: Path | None = None, target: str = "sm_90") -> None:
    """Judge, compare, print, and fail where the correlation falls short; `only` picks kernels by a part of the name."""
    console = Console(width=150)
    tasks = {task.id: task for task in load_spec("suite")}
    ids = sorted(path.relative_to(KERNELS).with_suffix("").as_posix() for path in KERNELS.rglob("*.py"))
    jobs = [
        (tasks[id], Candidate(task=id, source=(KERNELS / f"{id}.py").read_text())) for id in ids if only in id
    ]  # fmt: skip
    predicted = judge(jobs, "cpu", console)
    measured = judge(jobs, "cuda", console) if torch.cuda.is_available() else {}
    found = rows(tasks, predicted, measured)
    if out is not None:
        plain = [
            {
                **asdict(row),
                "predicted": row.predicted.model_dump(),
                "measured": row.measured and row.measured.model_dump(),
            }
            for row in found
        ]
        out.write_text(json.dumps(plain, indent=1))
    _print(console, found)
    if not measured:
        console.print(f"{len(found)} kernels, predicted for {target}; no GPU here, so nothing is measured or compared")
        return
    _misses(console, found)
    for kind, shares in sorted(reached(tasks, found, target).items()):
        spread = f"{min(shares):.2f} to {max(shares):.2f}"
        console.print(f"{kind}: {median(shares):.2f} of the limit ({spread}, {len(shares)} kernels)")
    pairs = [(row.predicted.speedup.median, row.measured.speedup.median) for row in found if row.measured]
    correlation = spearman([guess for guess, _ in pairs], [real for _, real in pairs])
    within = sum(0.5 <= row.miss <= 2.0 for row in found)
    console.print(
        f"{len(pairs)} kernels on {torch.cuda.get_device_name()}: Spearman {correlation:.3f}; wanted {WANTED}"
    )
    console.print(f"{within} of {len(found)} predictions are within a factor of two")
    if not only and (len(pairs) < ENOUGH or correlation < WANTED):
        raise SystemExit(1)


if __name__ == "__main__":
    typer.run(main)
