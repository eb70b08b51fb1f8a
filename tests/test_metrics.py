import itertools
import math

import pytest

from tritonsmith.metrics import bootstrap, difference, fast_p, geometric_mean, pass_at_k, summary
from tritonsmith.types import Interval, Record, Timing, Verdict


def record(task: str, sample: int, correct: bool, *, level: int = 1, speed: float | None = None) -> Record:
    interval = None if speed is None else Interval(median=speed, low=speed, high=speed)
    timing = None
    if interval is not None:
        timing = Timing(kind="predicted", reference_ms=1.0, candidate_ms=1.0, speedup=interval)
    verdict = Verdict(
        task=task,
        sample=sample,
        device="cpu",
        target="sm_90",
        policy="strict",
        valid=True,
        compiled=True,
        correct=correct,
        speedup=interval,
        timing=timing,
    )
    return Record(phase="eval/sft", task=task, level=level, sample=sample, completion="", source="x", verdict=verdict)


@pytest.mark.parametrize(("n", "c", "k"), [(5, 0, 1), (5, 2, 1), (5, 2, 3), (6, 3, 4), (10, 10, 10), (10, 1, 10)])
def test_pass_at_k_is_the_share_of_subsets_with_a_correct_one(n: int, c: int, k: int) -> None:
    subsets = list(itertools.combinations(range(n), k))
    exact = sum(any(i < c for i in subset) for subset in subsets) / len(subsets)
    assert pass_at_k(n, c, k) == pytest.approx(exact)


def test_pass_at_k_of_many_samples_does_not_overflow() -> None:
    assert 0 < pass_at_k(10_000, 1, 100) < 0.02


def test_pass_at_k_needs_k_samples() -> None:
    with pytest.raises(ValueError, match="does not exist"):
        pass_at_k(5, 1, 10)


def test_fast_p_counts_correct_and_faster() -> None:
    assert fast_p([True, True, False, True], [2.0, 1.0, 9.0, None], 1.0) == 0.25


def test_geometric_mean_of_a_speedup_and_its_inverse_is_one() -> None:
    assert geometric_mean([4.0, 0.25]) == pytest.approx(1.0)
    assert math.isnan(geometric_mean([]))
    assert geometric_mean([4.0, 0.0]) == 0.0


def test_interval_covers_the_true_mean_as_often_as_it_says() -> None:
    import numpy as np

    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        estimate = bootstrap(list(rng.normal(3.0, 1.0, size=40)))
        covered += estimate.low <= 3.0 <= estimate.high
    assert 0.88 <= covered / 200 <= 0.99


def test_interval_of_equal_values_has_no_width() -> None:
    assert bootstrap([0.5] * 7).low == bootstrap([0.5] * 7).high == 0.5


def test_summary_has_a_row_a_level_and_one_for_all() -> None:
    records = [record("a", i, i < 5) for i in range(10)] + [record("b", i, False, level=2) for i in range(10)]
    rows = summary(records)
    assert [row.level for row in rows] == [1, 2, None]
    assert [row.correct.value for row in rows] == [0.5, 0.0, 0.25]
    assert all(set(row.fast) == {1, 2} and row.fast[1].value >= row.fast[2].value for row in rows)
    assert rows[-1].passes[10].value == 0.5


def test_summary_leaves_out_a_k_beyond_the_samples() -> None:
    assert set(summary([record("a", i, True) for i in range(4)], ks=(1, 10))[0].passes) == {1}


def test_summary_speedup_counts_each_task_once_and_correct_ones_only() -> None:
    records = [record("a", i, True, speed=4.0) for i in range(3)]
    records += [record("b", 0, True, speed=1.0), record("c", 0, False, speed=100.0)]
    row = summary(records, ks=(1,))[-1]
    assert row.speedup is not None
    assert row.speedup.value == pytest.approx(2.0)
    assert row.speedup_kind == "predicted"


def test_summary_of_nothing_is_empty() -> None:
    assert summary([]) == []


def test_difference_is_paired_by_task() -> None:
    before = [record(f"t{i}", 0, i < 5) for i in range(10)]
    after = [record(f"t{i}", 0, i < 8) for i in range(10)] + [record("new", 0, True)]
    assert difference(before, after).value == pytest.approx(0.3)
    assert difference(before, before).high == 0.0
