"""Metrics of judged candidates: rates, pass@k, fast_p, geometric mean speedup, with bootstrap intervals over tasks.

Pure: records in, rows out. Does not read files, draw completions or print.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from tritonsmith import reward
from tritonsmith.types import Record

RESAMPLES = 2000
"""Bootstrap resamples: the ends of a 95 % interval then wander by about 0.001 between seeds for rates."""
PS = 1, 2
"""Speedups of fast_p that are told."""


class Estimate(BaseModel):
    """A mean over tasks with its 95 % percentile bootstrap interval."""

    model_config = ConfigDict(frozen=True)

    value: float
    low: float
    high: float


class Row(BaseModel):
    """The summary of one level, or of all."""

    model_config = ConfigDict(frozen=True)

    level: int | None
    """None for all levels together."""
    tasks: int
    samples: int
    """Candidates in all."""
    extracted: Estimate
    """Share of completions in which code was found."""
    valid: Estimate
    compiled: Estimate
    correct: Estimate
    reward: Estimate
    """Mean staged reward."""
    passes: dict[int, Estimate]
    """pass@k by k; a k that is larger than some task's number of samples is left out."""
    fast: dict[int, Estimate]
    """fast_p by p: the share of candidates that are correct and more than p times as fast as the reference."""
    speedup: Estimate | None
    """Geometric mean over the correct candidates, each task counting once; None where none is timed."""
    speedup_kind: Literal["predicted", "measured", "mixed"] | None


def pass_at_k(n: int, correct: int, k: int) -> float:
    """Unbiased estimate of the chance that one of `k` samples is correct, from `correct` among `n`.

    1 - C(n - c, k) / C(n, k), as a product that does not overflow (Chen et al. 2021, arXiv 2107.03374, equation 1
    and figure 3). Raises ValueError where n < k.
    """
    if not 0 <= correct <= n or not 1 <= k <= n:
        raise ValueError(f"pass@{k} of {correct} correct among {n} samples does not exist")
    if n - correct < k:
        return 1.0
    return 1.0 - math.prod(1.0 - k / i for i in range(n - correct + 1, n + 1))


def fast_p(correct: Sequence[bool], speedups: Sequence[float | None], p: float) -> float:
    """Share that is correct and more than `p` times as fast (KernelBench, arXiv 2502.10517, section 3.3)."""
    if not correct:
        return 0.0
    fast = [ok and speed is not None and speed > p for ok, speed in zip(correct, speedups, strict=True)]
    return sum(fast) / len(fast)


def geometric_mean(values: Sequence[float]) -> float:
    """exp of the mean logarithm; NaN of nothing, 0 where one is 0."""
    if not values:
        return math.nan
    return math.exp(sum(map(math.log, values)) / len(values)) if all(values) else 0.0


def bootstrap(values: Sequence[float], seed: int = 0) -> Estimate:
    """The mean of one value a task with its 95 % percentile interval over resampled tasks (Efron 1979)."""
    data = np.asarray(values, dtype=np.float64)
    if data.size == 0:
        return Estimate(value=math.nan, low=math.nan, high=math.nan)
    draws = np.random.default_rng(seed).integers(0, data.size, size=(RESAMPLES, data.size))
    low, high = np.percentile(data[draws].mean(axis=1), [2.5, 97.5])
    return Estimate(value=float(data.mean()), low=float(low), high=float(high))


def geometric(values: Sequence[float], seed: int = 0) -> Estimate:
    """The geometric mean of one positive value a task, with the interval of `bootstrap`."""
    mean = bootstrap([math.log(value) for value in values], seed)
    return Estimate(value=math.exp(mean.value), low=math.exp(mean.low), high=math.exp(mean.high))


def difference(before: Sequence[Record], after: Sequence[Record]) -> Estimate:
    """The change of the correct rate, paired by task: the same tasks are resampled on both sides.

    Only tasks with records on both sides count.
    """
    first, second = _by_task(before), _by_task(after)
    shared = sorted(set(first) & set(second))
    return bootstrap([_rate(second[task], _correct) - _rate(first[task], _correct) for task in shared])


def summary(records: Sequence[Record], ks: Sequence[int] = (1, 10)) -> list[Row]:
    """One row for each level, in order, and a last one for all; no rows for no records."""
    levels = sorted({record.level for record in records})
    rows = [_row([record for record in records if record.level == level], level, ks) for level in levels]
    return [*rows, _row(records, None, ks)] if rows else []


def _row(records: Sequence[Record], level: int | None, ks: Sequence[int]) -> Row:
    tasks = list(_by_task(records).values())

    def over_tasks(property_: Callable[[Record], float]) -> Estimate:
        return bootstrap([_rate(task, property_) for task in tasks])

    fewest = min(len(task) for task in tasks)
    passes = {
        k: bootstrap([pass_at_k(len(task), sum(map(_correct, task)), k) for task in tasks]) for k in ks if k <= fewest
    }
    speedup, kind = _speedup(tasks)
    return Row(
        level=level,
        tasks=len(tasks),
        samples=len(records),
        extracted=over_tasks(lambda record: record.source is not None),
        valid=over_tasks(lambda record: record.verdict.valid),
        compiled=over_tasks(lambda record: record.verdict.compiled),
        correct=over_tasks(_correct),
        reward=over_tasks(lambda record: record.verdict.reward),
        passes=passes,
        fast={p: bootstrap([_fast(task, p) for task in tasks]) for p in PS},
        speedup=speedup,
        speedup_kind=kind,
    )


def _speedup(
    tasks: Sequence[Sequence[Record]],
) -> tuple[Estimate | None, Literal["predicted", "measured", "mixed"] | None]:
    means: list[float] = []
    kinds: set[Literal["predicted", "measured"]] = set()
    for task in tasks:
        timed = [r.verdict for r in task if r.verdict.correct and r.verdict.speedup and reward.speedup(r.verdict) > 0]
        if timed:
            means.append(geometric_mean([reward.speedup(verdict) for verdict in timed]))
        kinds |= {verdict.timing.kind if verdict.timing else "measured" for verdict in timed}
    if not means:
        return None, None
    return geometric(means), kinds.pop() if len(kinds) == 1 else "mixed"


def _by_task(records: Sequence[Record]) -> dict[str, list[Record]]:
    tasks: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        tasks[record.task].append(record)
    return tasks


def _fast(records: Sequence[Record], p: float) -> float:
    verdicts = [record.verdict for record in records]
    return fast_p([one.correct for one in verdicts], [reward.speedup(one) for one in verdicts], p)


def _correct(record: Record) -> bool:
    return record.verdict.correct


def _rate(records: Sequence[Record], property_: Callable[[Record], float]) -> float:
    return sum(float(property_(record)) for record in records) / len(records)
