"""Who may use one GPU when: many candidates at once while values are computed, one alone while it is timed.

Also admits work by the memory it needs, so that candidates of large tasks wait for each other instead of failing.
Nobody may wait for room while sharing: take the room first.
Knows nothing of candidates; one instance a GPU and process.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_USABLE = 0.85
"""Share of the GPU's memory that admitted work may plan with; contexts and allocators' slack take the rest."""
_TOGETHER, _PATIENCE = 4, 0.15
"""How many wait to have the GPU alone, or how long one does in seconds, until nobody new may share it: each time it is
emptied, everybody waits for the last one."""

_BRISK = 5e-4
"""Seconds after which a thread of this process must let another one have the interpreter, while somebody times: each
turn of a timing ends with a message, which would wait for every thread that computes, 5 ms each by default. Ping-pong
with a process beside four threads that parse, on two busy CPU cores: 33 ms in the median before, 7 ms with it."""
_timing: list[float] = []
"""The interval to go back to, once for each that has a GPU alone."""
_interval = threading.Lock()


@contextmanager
def _brisk() -> Iterator[None]:
    """Let threads of this process take short turns; what was set before is set again by the last one."""
    with _interval:
        _timing.append(_timing[0] if _timing else sys.getswitchinterval())
        sys.setswitchinterval(_BRISK)
    try:
        yield
    finally:
        with _interval:
            before = _timing.pop()
            if not _timing:
                sys.setswitchinterval(before)


class Gpu:
    """One GPU's turnstile. Those who want it alone go one after the other, before those who would share it."""

    def __init__(self, index: int, memory: int | None = None) -> None:
        self.index = index
        self.memory = memory if memory is not None else torch.cuda.get_device_properties(index).total_memory
        self._changed = threading.Condition()
        self._sharing, self._waiting, self._alone, self._planned = 0, 0, False, 0
        self._kept_out, self._since = 0, 0.0

    @property
    def wanted(self) -> bool:
        """Whether somebody waits for whoever has the GPU alone."""
        return self._waiting > 0 or self._kept_out > 0

    @contextmanager
    def room(self, needs: int) -> Iterator[None]:
        """Plan with `needs` bytes of memory; more than there is is taken for all of it, and then admits nobody else."""
        planned = min(needs, int(self.memory * _USABLE))
        with self._changed:
            self._changed.wait_for(lambda: self._planned + planned <= self.memory * _USABLE)
            self._planned += planned
        try:
            yield
        finally:
            with self._changed:
                self._planned -= planned
                self._changed.notify_all()

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Compute beside others."""
        with self._changed:
            self._kept_out += 1
            self._changed.wait_for(lambda: not self._closed())
            self._kept_out -= 1
            self._sharing += 1
        try:
            yield
        finally:
            with self._changed:
                self._sharing -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Have the GPU to oneself."""
        with self._changed:
            if self._waiting == 0:
                self._since = time.monotonic()
            self._waiting += 1
            self._changed.wait_for(lambda: not self._alone and not self._sharing)
            self._waiting -= 1
            self._alone = True
        try:
            with _brisk():
                yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()

    def _closed(self) -> bool:
        """Whether nobody may begin to share: some are to have it alone, one after the other."""
        late = time.monotonic() - self._since > _PATIENCE
        return self._alone or self._waiting >= _TOGETHER or (self._waiting > 0 and late)
