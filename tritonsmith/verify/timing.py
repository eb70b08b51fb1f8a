"""Times a callable on the GPU, and turns interleaved blocks of trials into a speedup with an interval.

Presets: `calibrated` (extension 4: 10 warm-ups, 50 CUDA-event trials and more, fewer where a turn of them takes long,
10 % trimmed at each end), `long` (10 and 100) and `single` (the extension off: one timed run). Before each trial
the L2 cache is overwritten, and the host runs ahead of the device, so that events time the device and not the launch; a
trial of a short kernel has several calls, on caches that hold what they can, and is recorded beforehand where that is
possible (`cuda_graph`). The time as a user sees it is measured apart, by back-to-back calls against the judge's clock.
Does not choose the baseline.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from tritonsmith.types import Interval, Timing
from tritonsmith.verify import cuda_graph
from tritonsmith.verify.cuda_graph import Calls


@dataclass(frozen=True)
class Preset:
    """How often to run and what to leave out."""

    warmups: int
    trials: int
    """Trials, at least where they are short."""
    trim: float
    """Share of a block's trials left out at each end."""
    blocks: int = 5
    """Turns that the trials are taken in."""
    hide: bool = True
    """Whether launches are hidden: the device is kept busy until the host has queued a call."""
    most: int = 1
    """How many times `trials` may be run while the interval is wider than `PRECISION`."""


CALIBRATED = Preset(10, 50, 0.1, most=4)
LONG = Preset(10, 100, 0.1, blocks=10, most=3)
SINGLE = Preset(1, 1, 0.0, blocks=1, hide=False)

PRECISION = 0.006
"""Half-width of the interval, relative, at which calibrated timing stops early while nobody waits for the GPU."""
SYSTEMATIC, PLACEMENT, RECORDED_PLACEMENT = 0.01, 0.12e-3, 0.03e-3
"""What two processes that run the same kernel differ by however often it runs, relative and in milliseconds: launches
from a stream cost them more or less, and their data lie elsewhere. Measured on one H200 (benchmarks/timing.py: a kernel
of 3 us takes 2.87 us in some processes and 3.0 us in others; recorded, it differs by 0.01 us, and one of 2.8 us that
reads and writes 8 MB by 0.03); the interval is widened by the first and one of the others."""
_TURN_SECONDS, _RECORDED_TURN_SECONDS, _FEWEST = 0.01, 0.002, 3
"""Device time of a turn from which on its blocks are made shorter, and the trials they keep, one for each set of
inputs: others wait, and recorded kernels of 0.5 to 1 ms differ by 0.02 % from session to session
(benchmarks/timing.py)."""
_MOST_SECONDS = 3.0
"""Device time after which no further turn is taken."""
BUFFER = 0.5e-3
"""Seconds that the host runs ahead of the device, which is kept busy for that; what a hiccup of the host may take."""
MOST_SLEEP = 4 * BUFFER
"""Seconds that the device is kept busy before a trial's calls, at most."""
_LONG = 1.5
"""How many times as long as the host takes to queue it a call must run to need no such help."""
_SHORT = 40e-6
"""Seconds a trial lasts at least: of a shorter kernel a trial has several calls, up to `_MOST_CALLS`, after one round
that is not timed. Events have steps of 32 ns and cost 2 us on one H200, a large part of a kernel of 3 us; and what the
overwritten caches and page tables cost it depends on where its memory lies, 2 to 4 % from one process to the next. What
a short kernel has the GPU alone for is mostly these calls: one a trial from 40 us on, and five for a kernel of 39."""
_MOST_CALLS, _MOST_RECORDED = 12, 24
"""Calls of a trial at most. Those that were recorded cost the host nothing."""
RECORDED_MS = 50.0
"""Milliseconds that a call of both sides together takes up to which trials are recorded: that calls a forward eleven
times, and runs what was recorded as often. Of kernels above a millisecond a stream's launches are nothing on a quiet
host; on a busy one their trials were off by 1 to 5 % where those that were recorded were not."""
_CYCLES = 2.0e9
"""Clock of `torch.cuda._sleep`, at most: a little longer does no harm."""
# Student's t, 0.975 quantile, for 1 to 30 degrees of freedom.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
      2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)  # fmt: skip


class Stopwatch:
    """Times calls in this process on the current GPU."""

    def __init__(self, wait: Callable[[], None] | None = None) -> None:
        """`wait`: for what was called, in place of for all that the process has the GPU do: another thread of it may
        record a graph, which torch does not survive if all is waited for meanwhile."""
        self._wait = wait or torch.cuda.synchronize
        size = 2 * torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
        self._flush = torch.empty(size, dtype=torch.int8, device="cuda")
        self._queueing = 0.0
        """Seconds the host takes to queue a call where the device could be faster than that, else 0."""
        self._runs = 0.0
        """Seconds the device is busy with a call at least, where nobody else had it when that was measured, else 0."""
        self._first = 0.0
        """Milliseconds of a call as a first block shows them, 0 where there was none."""

    def warm(self, calls: Calls, times: int) -> float:
        """Run each call some times; gives the milliseconds of one as a first block shows them."""
        for number in range(max(times, len(calls))):
            calls[number % len(calls)]()
        self._wait()
        self._first = min(self.block(calls, 3)) if times > 1 else 0.0
        self._runs = 0.0
        return self._first

    def glance(self, calls: Calls) -> float:
        """Milliseconds of a call, roughly, for calls that are to be recorded: in a second round, launches and all."""
        for call in calls:
            call()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for call in calls:
            call()
        end.record()
        self._wait()
        self._first = start.elapsed_time(end) / len(calls)
        return self._first

    def block(self, calls: Calls, trials: int, repeats: int = 1, hide: bool = True) -> list[float]:
        """Milliseconds of a call in each trial, which has `repeats` of them; `hide` hides the launches.

        A trial that the device came to before the host had queued its calls is made again, up to so many.
        """
        kept: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []
        hosts: list[float] = []
        each, number, spare = calls_in_all(repeats, len(calls)), 0, trials
        busy = time.perf_counter() + (BUFFER if hide else 0.0)
        if hide:
            torch.cuda._sleep(int(BUFFER * _CYCLES))
        while len(kept) < trials:
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            began, hidden = time.perf_counter(), False
            if hide and self._queueing > 0:
                # What this block's trials took, once there are some, is not what they took beside other candidates.
                host = _middle(hosts) if hosts else self._queueing * each
                busy, hidden = self._keep_busy(max(busy, began), began + host + BUFFER)
                busy += self._runs * each
            self._flush.zero_()
            for call in calls if repeats > 1 else ():
                call()
            start.record()
            for repeat in range(repeats):
                calls[(number + repeat) % len(calls)]()
            end.record()
            number += 1
            hosts.append(time.perf_counter() - began)
            if hidden and spare > 0 and start.query():
                # What the device was said to be busy with was not there: it is believed no longer.
                spare, busy, self._runs = spare - 1, 0.0, 0.0
            else:
                kept.append((start, end))
        self._wait()
        times = [start.elapsed_time(end) / repeats for start, end in kept]
        host, self._runs = _middle(hosts) / each, 1e-3 * min(times)
        # Times near the host's own may be the host's: a call is long only if it is clearly longer.
        self._queueing = host if self._runs < _LONG * host else 0.0
        return times

    @staticmethod
    def _keep_busy(busy: float, until: float) -> tuple[float, bool]:
        """Keep the device, which is busy until `busy` at least, busy `until` the host has queued a trial, on its clock.

        More would only keep the GPU from others. Gives when it ends, and whether that is as late as it should be.
        """
        wait = min(max(until - busy, 0.0), MOST_SLEEP)
        if wait > 0:
            torch.cuda._sleep(int(wait * _CYCLES))
        return busy + wait, until - busy <= MOST_SLEEP

    def record(self, calls: Calls) -> cuda_graph.Recording | None:
        """The calls, recorded; None where a graph cannot hold them."""
        return cuda_graph.record(calls, self._flush, self._first)

    def back_to_back(self, calls: Calls, times: int) -> None:
        """Run calls with nothing between, and wait for the last."""
        for number in range(times):
            calls[number % len(calls)]()
        self._wait()


Block = Callable[[int], list[float]]
"""Runs so many trials and gives the milliseconds of a call in each."""


def _middle(seconds: Sequence[float]) -> float:
    """The median, which one hiccup of the host does not move."""
    return sorted(seconds)[len(seconds) // 2]


def calls_a_trial(milliseconds: float, recorded: bool = False) -> int:
    """How many calls of this length make a trial long enough for events."""
    most = _MOST_RECORDED if recorded else _MOST_CALLS
    return max(1, min(most, math.ceil(1e3 * _SHORT / milliseconds))) if milliseconds > 0 else 1


def calls_in_all(repeats: int, sets: int) -> int:
    """Calls of a trial with those that are not timed: a round of all input sets where several calls are."""
    return repeats + (sets if repeats > 1 else 0)


def trials_a_turn(preset: Preset, milliseconds: float, calls: int, recorded: bool) -> int:
    """Trials of each side in a turn, where a trial makes so many calls and one of both sides takes so long, roughly."""
    size = preset.trials // preset.blocks
    if milliseconds <= 0:
        return size
    turn = _RECORDED_TURN_SECONDS if recorded else _TURN_SECONDS
    return min(size, max(_FEWEST, int(1e3 * turn / (calls * milliseconds))))


def interleave(
    reference: Block,
    candidate: Block,
    preset: Preset,
    milliseconds: float = 0.0,
    patience: Callable[[], bool] = lambda: True,
    calls: int = 1,
    recorded: bool = False,
) -> tuple[list[list[float]], list[list[float]]]:
    """Blocks of both, in turns, the order changing from turn to turn; more turns while the interval is wide.

    `milliseconds` is what a call of both together takes, roughly, and `calls` how many a trial makes: long trials are
    exact if they are few, and nobody else can have the GPU meanwhile. The rule for stopping is fixed beforehand: from
    the preset's turns on, as soon as the interval is narrow or there is no `patience`. Looking several times makes the
    interval a little too narrow: of drawn sessions (`benchmarks/stopping.py`) Student's does not hold the true ratio in
    5 to 7 % where there is patience, in 4 to 5 % where there is none.
    """
    theirs: list[list[float]] = []
    ours: list[list[float]] = []
    size, spent = trials_a_turn(preset, milliseconds, calls, recorded), 0.0
    while len(ours) < preset.blocks * preset.most:
        for block, into in ((reference, theirs), (candidate, ours))[:: 1 if len(ours) % 2 == 0 else -1]:
            into.append(block(size))
        spent += 1e-3 * calls * (sum(theirs[-1]) + sum(ours[-1]))
        settled = not patience() or half_width(theirs, ours, preset) <= PRECISION
        enough = len(ours) >= min(2, preset.blocks)  # a single turn of several has no interval: anything is significant
        if (spent > _MOST_SECONDS and enough) or (len(ours) >= preset.blocks and settled):
            break
    return theirs, ours


def trimmed(times: Sequence[float], trim: float) -> np.ndarray:
    """The trials without the fastest and the slowest share `trim`, and without the slowest where that is none: others
    may take the GPU for a moment, whatever is done against it (`Gpu.changing`), and long kernels have three trials."""
    ordered = np.sort(np.asarray(times, dtype=float))
    cut = int(len(ordered) * trim)
    return ordered[cut : max(len(ordered) - max(cut, int(trim > 0)), 1)]


def half_width(reference: list[list[float]], candidate: list[list[float]], preset: Preset) -> float:
    """Half the 95 % interval of the logarithm of the speedup, from the turns' paired ratios (Student's t)."""
    ratios = _log_ratios(reference, candidate, preset)
    if len(ratios) < 2:
        return math.inf
    freedom = len(ratios) - 1
    quantile = _T[freedom - 1] if freedom <= len(_T) else 1.96
    return float(quantile * ratios.std(ddof=1) / math.sqrt(len(ratios)))


def compare(
    reference: list[list[float]], candidate: list[list[float]], preset: Preset, recorded: bool = False
) -> Timing:
    """Speedup as the geometric mean of the turns' ratios of trimmed means, with a 95 % interval.

    Ratios of neighbours in time cancel the clock's and the temperature's drift. A single turn has no interval: low,
    median and high are then the same.
    """
    ratios = _log_ratios(reference, candidate, preset)
    middle = float(ratios.mean())
    placement = (RECORDED_PLACEMENT if recorded else PLACEMENT) / min(
        _center(reference, preset), _center(candidate, preset)
    )
    width = half_width(reference, candidate, preset) + SYSTEMATIC + placement if len(ratios) > 1 else 0.0
    return Timing(
        kind="measured",
        recorded=recorded,
        reference_ms=_center(reference, preset),
        candidate_ms=_center(candidate, preset),
        speedup=Interval(median=math.exp(middle), low=math.exp(middle - width), high=math.exp(middle + width)),
    )


def _log_ratios(reference: list[list[float]], candidate: list[list[float]], preset: Preset) -> np.ndarray:
    pairs = zip(reference, candidate, strict=True)
    return np.log([trimmed(a, preset.trim).mean() / trimmed(b, preset.trim).mean() for a, b in pairs])


def _center(blocks: list[list[float]], preset: Preset) -> float:
    return float(np.mean([trimmed(block, preset.trim).mean() for block in blocks]))
