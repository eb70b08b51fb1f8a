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
_whole = False
"""Whether what runs is not to be stopped half way."""
_missed: TimeoutError | None = None
"""What was not raised for that."""


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
    global _runs, _missed
    if _runs:
        raise RuntimeError("a limit in time within another would end that one")
    limit = Limit()

    def late(number: int, frame: FrameType | None) -> None:
        global _missed
        limit.over, error = True, TimeoutError(f"not done within {seconds:g} s")
        if not _whole:
            raise error
        _missed = error

    timers = (signal.ITIMER_PROF, signal.SIGPROF, seconds), (signal.ITIMER_REAL, signal.SIGALRM, PATIENCE * seconds)
    before = [signal.signal(number, late) for _, number, _ in timers]
    _runs = True
    for timer, _, after in timers:
        signal.setitimer(timer, after)
    try:
        yield limit
    finally:
        _runs, _missed = False, None
        for timer, _, _ in timers:
            signal.setitimer(timer, 0)
        for (_, number, _), handler in zip(timers, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def whole() -> Iterator[None]:
    """Have a block in the main thread that is not to be stopped half way: what a limit raises meanwhile it raises at
    its end."""
    global _whole, _missed
    _whole = True
    try:
        yield
    finally:
        _whole = False
    if _missed is not None:
        error, _missed = _missed, None
        raise error
