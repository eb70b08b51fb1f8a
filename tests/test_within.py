"""A limit in time on what a runner does for itself."""

import contextlib
import signal
import time

import pytest

from tritonsmith.verify.process.within import within


def test_what_takes_too_long_is_given_up() -> None:
    with pytest.raises(TimeoutError), within(0.05):
        while True:
            time.sleep(0.001)


def test_who_computes_has_as_much_of_the_processor_whoever_else_has() -> None:
    began = time.process_time()
    with pytest.raises(TimeoutError), within(0.3):
        while True:
            pass
    assert time.process_time() - began > 0.25


def test_that_the_time_was_up_is_known_though_the_exception_is_swallowed() -> None:
    with within(0.05) as limit:
        assert not limit.over
        with contextlib.suppress(TimeoutError):
            while True:
                pass
    assert limit.over


def test_afterwards_no_clock_runs_and_the_handler_is_the_one_before() -> None:
    numbers, timers = (signal.SIGALRM, signal.SIGPROF), (signal.ITIMER_REAL, signal.ITIMER_PROF)
    before = [signal.getsignal(number) for number in numbers]
    with within(60.0):
        assert all(signal.getitimer(timer)[0] > 0 for timer in timers)
    assert not any(signal.getitimer(timer)[0] for timer in timers)
    assert [signal.getsignal(number) for number in numbers] == before


def test_a_limit_within_another_is_refused_and_the_outer_one_stands() -> None:
    with pytest.raises(TimeoutError), within(0.3):
        with pytest.raises(RuntimeError, match="within another"), within(60.0):
            pass
        while True:
            time.sleep(0.001)
