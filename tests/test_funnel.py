"""The funnel's order and what it writes, on stages of our own."""

from collections.abc import Callable

import pytest

from tritonsmith.types import STAGES, Finding, Interval, KernelStats, Mismatch, StageName, Timing, Verdict
from tritonsmith.verify import funnel
from tritonsmith.verify.funnel import Outcome


def _verdict() -> Verdict:
    return Verdict(task="t", device="cpu", target="sm_90", policy="strict")


def _stages(fails: StageName | None, ran: list[str]) -> list[funnel.Stage]:
    def stage(name: StageName) -> Callable[[], Outcome]:
        def call() -> Outcome:
            ran.append(name)
            broken = name == fails
            findings = [Finding(rule=name, message="m")] if broken else []
            kernels = [KernelStats(name="k", registers=1, spills=0, shared=0, launches=1)] if name == "compile" else []
            interval = Interval(median=2.0, low=2.0, high=2.0)
            timing = (
                Timing(kind="predicted", reference_ms=2, candidate_ms=1, speedup=interval) if name == "timing" else None
            )
            return Outcome(not broken, f"{name}\nsecond line", findings, kernels=kernels, timing=timing)

        return call

    return [(name, stage(name)) for name in STAGES]


@pytest.mark.parametrize("fails", STAGES)
def test_nothing_runs_after_a_failure(fails: StageName) -> None:
    ran: list[str] = []
    verdict = funnel.run(_stages(fails, ran), _verdict())
    assert ran == list(STAGES[: STAGES.index(fails) + 1])
    assert [stage.ok for stage in verdict.stages] == [True] * (len(ran) - 1) + [False]
    assert verdict.stage == (STAGES[STAGES.index(fails) - 1] if fails != "ast" else None)


@pytest.mark.parametrize("fails", [*STAGES, None])
def test_unstaged_runs_all_and_judges_alike(fails: StageName | None) -> None:
    ran: list[str] = []
    staged, unstaged = (funnel.run(_stages(fails, ran), _verdict(), one) for one in (True, False))
    assert len(unstaged.stages) == 5
    for field in ("stage", "valid", "compiled", "correct", "findings", "kernels", "speedup", "timing", "mismatch"):
        assert getattr(staged, field) == getattr(unstaged, field), field


@pytest.mark.parametrize(
    ("fails", "compiled", "correct"),
    [
        ("compile", False, False),
        ("tiny", True, False),
        ("full", True, False),
        ("timing", True, True),
        (None, True, True),
    ],
)
def test_correct_means_full_was_passed(fails: StageName | None, compiled: bool, correct: bool) -> None:
    verdict = funnel.run(_stages(fails, []), _verdict())
    assert (verdict.compiled, verdict.correct) == (compiled, correct)


def test_the_detail_is_one_line() -> None:
    assert [stage.detail for stage in funnel.run(_stages(None, []), _verdict()).stages] == list(STAGES)


def test_the_first_mismatch_stands() -> None:
    first = Outcome(False, mismatch=Mismatch(variant="v", output="output", message="first"))
    second = Outcome(False, mismatch=Mismatch(variant="v", output="output", message="second"))
    verdict = funnel.run([("tiny", lambda: first), ("full", lambda: second)], _verdict(), staged=False)
    assert verdict.mismatch is not None and verdict.mismatch.message == "first"


def test_our_own_exceptions_propagate() -> None:
    def broken() -> Outcome:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        funnel.run([("ast", broken)], _verdict())


def test_wrong_while_timed_takes_correctness_back() -> None:
    def timing() -> Outcome:
        mismatch = Mismatch(variant="while it was timed", output="output", message="wrong values")
        return Outcome(False, mismatch=mismatch, stands="tiny")

    stages: list[funnel.Stage] = [(name, lambda: Outcome(True)) for name in STAGES[:-1]]
    verdict = funnel.run([*stages, ("timing", timing)], _verdict())
    assert not verdict.correct and verdict.stage == "tiny" and verdict.mismatch is not None


@pytest.mark.parametrize(("stands", "compiled"), [(None, False), ("ast", False), ("compile", True)])
def test_a_failure_takes_back_what_does_not_stand(stands: StageName | None, compiled: bool) -> None:
    stages = _stages(None, [])[:4]
    stages.append(("timing", lambda: Outcome(False, stands=stands)))
    verdict = funnel.run(stages, _verdict())
    assert not verdict.correct if stands else verdict.correct
    assert verdict.compiled == (compiled if stands else True)
    assert verdict.stage == (stands or "full")
