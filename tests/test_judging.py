"""Judging in the background: order, the line of batches, and that no failure of the verifier hangs a run."""

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tritonsmith.train.judging import Judging
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify.pool import Verifier

TASK = Task(id="t", level=1, source="")


def candidate(sample: int) -> Candidate:
    return Candidate(task="t", sample=sample, source=None)


def verdict(sample: int) -> Verdict:
    return Verdict(task="t", sample=sample, device="cpu", target="sm_90", policy="strict")


class Judge:
    """Judges what comes as soon as `may` lets it; `fails_at` raises at a sample."""

    def __init__(self, fails_at: int | None = None) -> None:
        self.fails_at = fails_at
        self.may = threading.Event()
        self.may.set()
        self.taken: list[int] = []

    def verify_many(
        self, jobs: Iterable[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        def one(index: int, sample: int) -> None:
            assert self.may.wait(30)
            if on_verdict is not None:
                on_verdict(index, verdict(sample))

        with ThreadPoolExecutor(8) as threads:
            futures = []
            for index, (_, given) in enumerate(jobs):
                self.taken.append(given.sample)
                if given.sample == self.fails_at:
                    raise RuntimeError("broken")
                futures.append(threads.submit(one, index, given.sample))
            for future in futures:
                future.result()
        return []


def filled(
    judge: Judge, samples: range, workers: int = 4, before: Judging | None = None, timeout: float = 60.0
) -> Judging:
    batch = Judging(judge, workers, before, timeout=timeout)
    for sample in samples:
        batch.submit(TASK, candidate(sample))
    batch.close()
    return batch


def test_verdicts_come_in_the_order_of_the_candidates() -> None:
    found = filled(Judge(), range(20)).verdicts()
    assert [one.sample for one in found if one is not None] == list(range(20))


def test_candidates_are_taken_as_they_come() -> None:
    judge = Judge()
    batch = Judging(judge, 2)
    seen = threading.Event()
    batch._on_verdict = lambda number, found: seen.set()
    batch.submit(TASK, candidate(7))
    assert seen.wait(30) and judge.taken == [7]
    batch.close()
    assert len(batch.verdicts()) == 1 and batch.seconds >= 0


def test_a_batch_takes_only_what_the_one_before_leaves_idle() -> None:
    judge = Judge()
    judge.may.clear()
    first = filled(judge, range(6), workers=4)
    second = filled(judge, range(10, 16), workers=4, before=first)
    judge.may.wait(0.3)
    assert not any(sample >= 10 for sample in judge.taken)
    judge.may.set()
    assert len(first.verdicts()) == len(second.verdicts()) == 6
    assert first.seconds >= 0.3 > second.seconds


def test_a_straggler_takes_one_place_and_no_more() -> None:
    slow, quick = Judge(), Judge()
    slow.may.clear()
    first = filled(slow, range(1))
    second = filled(quick, range(20), 2, first)
    end = time.monotonic() + 20
    while len(second._verdicts) < 20 and time.monotonic() < end:
        time.sleep(0.01)
    assert len(second._verdicts) == 20 and not first._verdicts
    slow.may.set()
    assert len(first.verdicts()) == 1 and len(second.verdicts()) == 20


def test_what_the_verifier_fails_at_has_no_verdict() -> None:
    found = filled(Judge(fails_at=3), range(5)).verdicts()
    assert found[3] is None and found[4] is None and found[0] is not None


def test_a_verifier_that_judges_nothing_ends_the_run() -> None:
    with pytest.raises(RuntimeError, match="broken"):
        filled(Judge(fails_at=0), range(5)).verdicts()


def test_a_silent_verifier_is_given_up() -> None:
    judge = Judge()
    judge.may.clear()
    with pytest.raises(TimeoutError, match="no verdict"):
        filled(judge, range(2), timeout=0.01).verdicts()
    judge.may.set()


def test_stopping_takes_nothing_more() -> None:
    judge = Judge()
    with Judging(judge, 2) as batch:
        batch.submit(TASK, candidate(0))
    batch.submit(TASK, candidate(1))
    assert not batch._thread.is_alive() and 1 not in judge.taken


def test_the_real_verifier_streams(verifier: Verifier) -> None:
    batch = Judging(verifier, 2)
    for sample in range(3):
        batch.submit(TASK, Candidate(task="t", sample=sample, source=f"x = {sample} +"))
    batch.close()
    found = batch.verdicts()
    assert [one.sample for one in found if one is not None] == [0, 1, 2] and not any(o.correct for o in found if o)
