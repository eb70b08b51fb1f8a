"""Times a callable on the GPU with CUDA events, and turns trials into a speedup with an interval.

Presets: `calibrated` (extension 4: 10 warm-ups, 50 trials, 10 % trimmed at each end) and `single` (the
extension off: one timed run). Times are of the device alone; launch latency shows in kernels of a few
microseconds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from tritonsmith.types import Interval, Timing


@dataclass(frozen=True)
class Preset:
    """How often to run and what to leave out."""

    warmups: int
    trials: int
    trim: float
    """Share of the trials left out at each end."""


CALIBRATED = Preset(10, 50, 0.1)
SINGLE = Preset(1, 1, 0.0)


def measure(call: Callable[[], object], preset: Preset) -> list[float]:
    """Milliseconds of each trial; the L2 cache is overwritten before each one."""
    flush = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    for _ in range(preset.warmups):
        call()
    events = [
        (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(preset.trials)
    ]
    for start, end in events:
        flush.zero_()
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in events]


def trimmed(times: Sequence[float], trim: float) -> np.ndarray:
    """The trials without the fastest and the slowest share `trim`."""
    ordered = np.sort(np.asarray(times, dtype=float))
    cut = int(len(ordered) * trim)
    return ordered[cut : len(ordered) - cut]


def compare(reference: Sequence[float], candidate: Sequence[float], preset: Preset) -> Timing:
    """Speedup of the trimmed means with a 95 % percentile-bootstrap interval (Efron 1979)."""
    ours, theirs = trimmed(candidate, preset.trim), trimmed(reference, preset.trim)
    generator = np.random.default_rng(0)
    draws = [_resample(theirs, generator) / _resample(ours, generator) for _ in range(1000)]
    low, high = np.quantile(draws, (0.025, 0.975))
    return Timing(
        kind="measured",
        reference_ms=float(theirs.mean()),
        candidate_ms=float(ours.mean()),
        speedup=Interval(median=float(theirs.mean() / ours.mean()), low=float(low), high=float(high)),
    )


def _resample(values: np.ndarray, generator: np.random.Generator) -> float:
    return float(generator.choice(values, len(values)).mean())
