"""Jobs taken from their source in a thread of its own: who waits there for the next one keeps no verdict back.

A source may be a teacher that writes for minutes, or a batch that is still being drawn. Judges nothing.
"""

import threading
from collections.abc import Callable, Iterable
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Taken(NamedTuple, Generic[T]):
    """A job, and its place among all of them."""

    index: int
    job: T


class Ended(NamedTuple):
    """There is no further job, or the source raised this."""

    error: BaseException | None


class Feeding(Generic[T]):
    """Takes jobs while there is `room`, of which each takes one, and tells of each in the thread that takes them.

    `told` is called with `Ended` last, also after `stop`; it must not wait.
    """

    def __init__(self, jobs: Iterable[T], room: int, told: Callable[[Taken[T] | Ended], None]) -> None:
        self._jobs, self._told = jobs, told
        self._room, self._stopped = threading.Semaphore(room), threading.Event()
        threading.Thread(target=self._run, name="tritonsmith-feeding", daemon=True).start()

    def release(self) -> None:
        """Make room for one job more."""
        self._room.release()

    def stop(self) -> None:
        """Take no job more, but for one that the source is being asked for."""
        self._stopped.set()
        self._room.release()

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            for index, job in enumerate(self._jobs):
                self._told(Taken(index, job))
                self._room.acquire()
                if self._stopped.is_set():
                    break
        except BaseException as raised:  # belongs to who asks for verdicts, and is raised there
            error = raised
        self._jobs = ()  # a generator ends here, whose `finally` may be waited for
        self._told(Ended(error))
