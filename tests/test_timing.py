"""The statistics of timing, on times that are drawn and not measured."""

import math

import numpy as np
import pytest

from tritonsmith.verify import timing
from tritonsmith.verify.timing import CALIBRATED, PLACEMENT, SINGLE, SYSTEMATIC, Block


def _clock(mean: float, noise: float, seed: int, order: list[str] | None = None, name: str = "") -> Block:
    draw = np.random.default_rng(seed)

    def block(trials: int) -> list[float]:
        if order is not None:
            order.append(name)
        return [float(t) for t in mean * np.exp(noise * draw.standard_normal(trials))]

    return block


def test_sides_take_turns_and_the_order_changes() -> None:
    order: list[str] = []
    timing.interleave(_clock(0.1, 0.0, 0, order, "r"), _clock(0.1, 0.0, 1, order, "c"), CALIBRATED)
    assert "".join(order) == "rccrrccrrc"


def test_noisy_times_get_more_turns_and_quiet_ones_the_fewest() -> None:
    quiet, _ = timing.interleave(_clock(0.01, 1e-4, 0), _clock(0.01, 1e-4, 1), CALIBRATED)
    noisy, _ = timing.interleave(_clock(0.01, 0.2, 0), _clock(0.01, 0.2, 1), CALIBRATED)
    assert len(quiet) == CALIBRATED.blocks
    assert sum(map(len, quiet)) == CALIBRATED.trials
    assert len(noisy) == CALIBRATED.blocks * CALIBRATED.most


def test_long_kernels_do_not_hold_the_gpu_for_long() -> None:
    turns, _ = timing.interleave(_clock(400.0, 0.2, 0), _clock(400.0, 0.2, 1), CALIBRATED, 800.0)
    assert sum(map(len, turns)) <= 6
    turns, others = timing.interleave(_clock(5.0, 1e-4, 0), _clock(5.0, 1e-4, 1), CALIBRATED, 10.0)
    assert sum(map(len, turns + others)) <= 30


def test_the_longest_kernels_have_an_interval_too() -> None:
    """A single turn of several had none, so that any difference was significant."""
    theirs, ours = timing.interleave(_clock(4000.0, 0.02, 0), _clock(4000.0, 0.02, 1), CALIBRATED, 8000.0)
    found = timing.compare(theirs, ours, CALIBRATED).speedup
    assert len(ours) == 2 and found.low < 1.0 < found.high


def test_single_run_has_no_interval() -> None:
    theirs, ours = timing.interleave(_clock(2.0, 0.0, 0), _clock(1.0, 0.0, 1), SINGLE)
    found = timing.compare(theirs, ours, SINGLE).speedup
    assert found.low == found.median == found.high == pytest.approx(2.0)


def test_drift_that_both_sides_feel_cancels() -> None:
    theirs = [[1.0 + 0.1 * turn] * 10 for turn in range(5)]
    ours = [[0.5 + 0.05 * turn] * 10 for turn in range(5)]
    found = timing.compare(theirs, ours, CALIBRATED).speedup
    assert found.median == pytest.approx(2.0)
    assert found.high / found.median == pytest.approx(math.exp(SYSTEMATIC + PLACEMENT / 0.6))


def test_recorded_trials_need_a_narrower_interval_and_less_of_the_gpu() -> None:
    theirs, ours = timing.interleave(_clock(0.003, 1e-4, 0), _clock(0.003, 1e-4, 1), CALIBRATED)
    wide, narrow = (timing.compare(theirs, ours, CALIBRATED, recorded=known) for known in (False, True))
    assert 1.01 < narrow.speedup.high < 1.03 < wide.speedup.high and narrow.recorded and not wide.recorded
    long = [
        timing.interleave(_clock(0.5, 1e-4, 0), _clock(0.5, 1e-4, 1), CALIBRATED, 1.0, recorded=known)[0]
        for known in (False, True)
    ]
    assert sum(map(len, long[1])) == 3 * CALIBRATED.blocks < sum(map(len, long[0])) == CALIBRATED.trials


def test_no_more_than_the_preset_while_others_wait() -> None:
    turns, _ = timing.interleave(_clock(0.01, 0.2, 0), _clock(0.01, 0.2, 1), CALIBRATED, 0.02, lambda: False)
    assert len(turns) == CALIBRATED.blocks


def test_fewer_turns_are_enough_while_others_wait() -> None:
    taken = {True: 0, False: 0}
    for patient in taken:
        for seed in range(50):
            clocks = _clock(0.01, 0.012, 2 * seed), _clock(0.01, 0.012, 2 * seed + 1)
            turns, _ = timing.interleave(*clocks, CALIBRATED, 0.02, lambda patient=patient: patient)
            taken[patient] += len(turns)
    assert CALIBRATED.blocks * 50 == taken[False] < 0.8 * taken[True]


def test_outliers_are_trimmed() -> None:
    blocks = [[1.0] * 9 + [50.0] for _ in range(5)]
    assert timing.compare(blocks, [[1.0] * 10] * 5, CALIBRATED).speedup.median == pytest.approx(1.0)


@pytest.mark.parametrize("trials", [2, 3, 5])
def test_a_trial_of_few_that_others_took_the_gpu_from_does_not_count(trials: int) -> None:
    quiet, disturbed = [1.5] * trials, [1.5] * (trials - 1) + [1.85]
    found = timing.compare([disturbed, quiet] * 3, [quiet, quiet] * 3, CALIBRATED)
    assert found.speedup.median == pytest.approx(1.0) and found.reference_ms == pytest.approx(1.5)


def test_a_single_run_counts_as_it_is() -> None:
    assert timing.compare([[2.0]], [[1.0]], SINGLE).speedup.median == pytest.approx(2.0)


def test_interval_covers_the_true_speedup() -> None:
    covered = 0
    for seed in range(200):
        theirs, ours = timing.interleave(_clock(1.2, 0.05, 2 * seed), _clock(1.0, 0.05, 2 * seed + 1), CALIBRATED)
        found = timing.compare(theirs, ours, CALIBRATED).speedup
        covered += found.low <= 1.2 <= found.high
    assert covered >= 190


def test_kernel_against_itself_is_seldom_significant() -> None:
    significant = 0
    for seed in range(200):
        theirs, ours = timing.interleave(_clock(0.005, 0.1, 2 * seed), _clock(0.005, 0.1, 2 * seed + 1), CALIBRATED)
        found = timing.compare(theirs, ours, CALIBRATED).speedup
        significant += found.low > 1 or found.high < 1
    assert significant <= 10
