"""What many use together or one alone, in whatever threads and processes: locked files, whose keeper is the kernel.

Locks are flock(2)'s, so what a process held is free again whatever it died of, kill -9 included; whoever waits sleeps
in the kernel. Three files in one folder: `use` is held together by those who share and alone by who is alone. `gate`
is held by all who are alone or wait for it, together, and by a sharer, alone, for the moment in which it enters: so
nobody new begins to share until the last one who wanted it alone has had it, and sharers can starve nobody. Nobody
starves sharers either as long as each must share again before it may want it alone again, as candidates do. `wish` is
held by all who wait. Does not know what is used: see `gpu`.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

_PAUSE = 1e-3
"""Seconds between two tries of who does not wait."""


class Turnstile:
    """One thing to be shared or had alone; all turnstiles on one folder are the same one. No lock is reentrant."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._gate, self._use, self._wish = (folder / name for name in ("gate", "use", "wish"))

    @property
    def wanted(self) -> bool:
        """Whether somebody waits for whoever has it."""
        try:
            with held(self._wish, fcntl.LOCK_EX | fcntl.LOCK_NB):
                return False
        except BlockingIOError:
            return True

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Use it beside others."""
        with ExitStack() as inside:
            with held(self._wish, fcntl.LOCK_SH), held(self._gate, fcntl.LOCK_EX):
                inside.enter_context(held(self._use, fcntl.LOCK_SH))
            yield

    @contextmanager
    def shared_within(self, seconds: float) -> Iterator[None]:
        """Use it beside others, or in spite of who is alone after so many seconds. Nobody waits for who waits."""
        end = time.monotonic() + seconds
        with ExitStack() as inside:
            while not self._entered(inside) and time.monotonic() < end:
                time.sleep(_PAUSE)
            yield

    def _entered(self, inside: ExitStack) -> bool:
        try:
            with held(self._gate, fcntl.LOCK_EX | fcntl.LOCK_NB):
                inside.enter_context(held(self._use, fcntl.LOCK_SH | fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True

    @contextmanager
    def alone(self, first: Callable[[], object] | None = None) -> Iterator[Callable[[], None]]:
        """Have it to oneself; those who want that go one after the other, before anybody new may share it.

        `first` is done meanwhile, beside those who share it still. What this gives lets others share it again, beside
        whom the rest is done; where somebody waits to be alone nobody comes before that rest is done.
        """
        with ExitStack() as inside, ExitStack() as closed:
            with held(self._wish, fcntl.LOCK_SH):
                closed.enter_context(held(self._gate, fcntl.LOCK_SH))
                if first is not None:
                    with held(self._use, fcntl.LOCK_SH):
                        first()
                use = inside.enter_context(held(self._use, fcntl.LOCK_EX))

            def share() -> None:
                closed.close()
                fcntl.flock(use, fcntl.LOCK_SH)

            yield share


@contextmanager
def held(path: Path, kind: int) -> Iterator[int]:
    """A lock on a file, of a kind of flock(2)'s, and its descriptor; raises BlockingIOError where that may not wait
    and has to."""
    # A descriptor of its own each time: that is what flock knows a holder by, not the thread or the process.
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, kind)
        yield descriptor
    finally:
        os.close(descriptor)
