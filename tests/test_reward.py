import math

import pytest

from tritonsmith.reward import beats, counted, parts, score, speedup
from tritonsmith.types import Interval, StageName, Timing, Verdict


def verdict(
    stage: StageName | None,
    *,
    valid: bool = True,
    correct: bool = False,
    speed: tuple[float, float, float] | None = None,
    kind: str = "measured",
) -> Verdict:
    interval = None if speed is None else Interval(median=speed[0], low=speed[1], high=speed[2])
    timing = None
    if interval is not None:
        timing = Timing.model_validate({"kind": kind, "reference_ms": 1.0, "candidate_ms": 1.0, "speedup": interval})
    return Verdict(
        task="t",
        device="cpu",
        target="sm_90",
        policy="strict",
        stage=stage,
        valid=valid,
        correct=correct,
        speedup=interval,
        timing=timing,
    )


@pytest.mark.parametrize(("stage", "expected"), [(None, 0.0), ("ast", 0.0), ("compile", 0.3), ("tiny", 0.5)])
def test_staged_pays_by_the_last_stage_passed(stage: StageName | None, expected: float) -> None:
    assert score(verdict(stage), "staged") == expected


def test_staged_pays_correct_without_timing() -> None:
    assert score(verdict("full", correct=True), "staged") == 0.7


@pytest.mark.parametrize(("median", "expected"), [(0.5, 0.7), (1.5, 0.85), (2.0, 1.0), (50.0, 1.0), (math.inf, 0.7)])
def test_staged_bonus_is_clipped(median: float, expected: float) -> None:
    assert score(verdict("timing", correct=True, speed=(median, median, median))) == pytest.approx(expected)


def test_staged_cap_stretches_the_bonus() -> None:
    assert score(verdict("timing", correct=True, speed=(3.0, 2.9, 3.1)), "staged", cap=4.0) == pytest.approx(0.85)


def test_staged_without_cap_has_no_bonus() -> None:
    assert score(verdict("timing", correct=True, speed=(3.0, 2.9, 3.1)), "staged", cap=0.0) == 0.7


@pytest.mark.parametrize("stage", ["compile", "tiny", "full"])
def test_staged_pays_nothing_for_a_broken_policy(stage: StageName) -> None:
    assert score(verdict(stage, valid=False)) == 0.0


def test_insignificant_measurement_counts_as_one() -> None:
    assert speedup(verdict("timing", correct=True, speed=(1.4, 0.9, 1.8))) == 1.0


def test_significant_measurement_counts() -> None:
    assert speedup(verdict("timing", correct=True, speed=(1.4, 1.1, 1.8))) == 1.4


def test_what_was_measured_stays_in_the_verdict() -> None:
    found = verdict("timing", correct=True, speed=(1.4, 0.9, 1.8))
    assert speedup(found) == 1.0 and found.speedup == Interval(median=1.4, low=0.9, high=1.8)


def test_a_single_run_counts_as_it_is() -> None:
    assert counted(Interval(median=1.02, low=1.02, high=1.02)) == 1.02


def test_prediction_counts_as_it_is() -> None:
    assert speedup(verdict("timing", correct=True, speed=(1.4, 0.9, 1.8), kind="predicted")) == 1.4


def test_binary() -> None:
    assert (score(verdict("full", correct=True), "binary"), score(verdict("tiny"), "binary")) == (1.0, 0.0)


def test_frontend() -> None:
    assert (score(verdict("full", correct=True), "frontend"), score(verdict("tiny"), "frontend")) == (1.0, -10.0)


def test_midend() -> None:
    fast = verdict("timing", correct=True, speed=(5.0, 4.9, 5.1))
    assert (score(fast, "midend"), score(verdict("tiny"), "midend")) == (6.0, -10.0)


def test_hierarchical_pays_the_plan_for_speed_and_the_code_for_correctness() -> None:
    fast = verdict("timing", correct=True, speed=(1.5, 1.4, 1.6))
    assert parts(fast, "hierarchical") == {"plan": 1.5, "code": 1.0}
    assert score(fast, "hierarchical") == pytest.approx(0.1 * 1.5 + 1.0)


def test_hierarchical_clips_the_speedup() -> None:
    assert parts(verdict("timing", correct=True, speed=(80.0, 79.0, 81.0)), "hierarchical")["plan"] == 2.0


def test_hierarchical_pays_nothing_for_a_wrong_candidate() -> None:
    assert parts(verdict("tiny", speed=(9.0, 8.0, 10.0)), "hierarchical") == {"plan": 0.0, "code": 0.0}


def test_uniform_pays_all_tokens_what_hierarchical_shares_out() -> None:
    fast = verdict("timing", correct=True, speed=(1.5, 1.4, 1.6))
    assert parts(fast, "uniform") == dict.fromkeys(("plan", "code"), score(fast, "hierarchical"))
    assert score(verdict("tiny", speed=(9.0, 8.0, 10.0)), "uniform") == 0.0


def test_uniform_weighs_the_plan_as_hierarchical_does() -> None:
    """It went by 0.1 whatever `reward.alpha` said."""
    fast = verdict("timing", correct=True, speed=(1.5, 1.4, 1.6))
    assert score(fast, "uniform", alpha=0.5) == 0.5 * 1.5 + 1.0 == parts(fast, "uniform", alpha=0.5)["plan"]


def test_other_schemes_pay_both_parts_alike() -> None:
    assert parts(verdict("tiny"), "staged") == {"plan": 0.5, "code": 0.5}


def test_unknown_scheme_is_refused() -> None:
    with pytest.raises(ValueError, match="no reward scheme"):
        score(verdict("tiny"), "generous")


def test_only_what_is_correct_and_clearly_faster_beats() -> None:
    given = verdict("timing", correct=True, speed=(1.2, 1.1, 1.3))
    assert beats(verdict("timing", correct=True, speed=(1.4, 1.25, 1.5)), given)
    assert not beats(verdict("timing", correct=True, speed=(1.3, 1.15, 1.5)), given)
    assert not beats(verdict("tiny", speed=(9.0, 8.9, 9.1)), given)
    assert not beats(verdict("full", correct=True), given)
    assert beats(given, verdict("full", correct=True))
