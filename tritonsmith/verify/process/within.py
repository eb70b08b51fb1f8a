"""A limit in time on what a runner does for itself, so that it goes on without; the judge's own limit ends a runner.

In processor time, for what is tried must not hang on who else is busy; and in `queued.PATIENCE` times as much of wall
time, for who sleeps has no end.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from tritonsmith.verify.process.queued import PATIENCE

_runs = False
"""Whether a limit is in force: a process has one timer of each kind."""


@dataclass
class Limit:
    """What is known of a limit."""

    over: bool = False
    """Whether the time was up, whatever became of the exception then."""


@contextmanager
def within(seconds: float) -> Iterator[Limit]:
    """Raise TimeoutError in the main thread, whatever runs there, once the block has taken so long.

    Not to be nested, for the inner block would end the outer one's limit: raises RuntimeError where a limit is in
    force.
    """
    global _runs
    if _runs:
        raise RuntimeError("a limit in time within another would end that one")
    limit = Limit()

    def late(number: int, frame: FrameType | None) -> None:
        limit.over = True
        raise TimeoutError(f"not done within {seconds:g} s")

    timers = (signal.ITIMER_PROF, signal.SIGPROF, seconds), (signal.ITIMER_REAL, signal.SIGALRM, PATIENCE * seconds)
    before = [signal.signal(number, late) for _, number, _ in timers]
    _runs = True
    for timer, _, after in timers:
        signal.setitimer(timer, after)
    try:
        yield limit
    finally:
        _runs = False
        for timer, _, _ in timers:
            signal.setitimer(timer, 0)
        for (_, number, _), handler in zip(timers, before, strict=True):
            signal.signal(number, handler)
