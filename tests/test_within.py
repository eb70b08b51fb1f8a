"""A limit in time on what a runner does for itself."""

import signal
import time

import pytest

from tritonsmith.verify.process.within import within


def test_what_takes_too_long_is_given_up() -> None:
    with pytest.raises(TimeoutError), within(0.05):
        while True:
            time.sleep(0.001)


def test_afterwards_no_clock_runs_and_the_handler_is_the_one_before() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with within(60.0):
        pass
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0 and signal.getsignal(signal.SIGALRM) is before
