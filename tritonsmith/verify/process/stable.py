"""Warm CUDA runners for one GPU: a context takes a quarter of a second to create, so some wait with theirs ready.

`isolation = "process"`: a runner serves one candidate and is killed. `"pooled"`: it serves on while it answers, its
integrity check passes and it has served fewer than `MOST`; then it is replaced. Does not talk to candidates.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from tritonsmith.verify.process import scratch, wire
from tritonsmith.verify.process.raised import lacks_memory
from tritonsmith.verify.process.zygote import Runner, Zygote
from tritonsmith.verify.sandbox import Limits

MOST = 100
"""Candidates after which a pooled runner is replaced: code that Triton has loaded is never unloaded."""
_WARM_SECONDS = 120.0
_MOSTLY = 2.0
"""Seconds that others wait for a context, at most."""
_PAUSE = 0.5
"""Seconds until a start is tried again for which the GPU had no memory left; what others plan with comes back."""


class Stable:
    """Keeps `spare` runners ready beyond those in use; usable from several threads."""

    def __init__(
        self,
        zygote: Zygote,
        limits: Callable[[Path], Limits],
        gpu: int,
        pooled: bool,
        spare: int,
        changing: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """`changing`: held while a runner begins on the GPU, and while one ends there that did nothing wrong."""
        self._zygote, self._limits, self._gpu = zygote, limits, gpu
        self._pooled, self._spare, self._changing = pooled, spare, changing
        self._idle: list[Runner] = []
        # A start that ends at once is told of in the thread that asked for it, which holds the lock.
        self._lock = threading.RLock()
        # One at a time: contexts that are created side by side queue in the driver and take as long.
        self._starter = ThreadPoolExecutor(2, thread_name_prefix="tritonsmith-warm")
        self._starting: list[Future[Runner]] = []

    def take(self) -> Runner:
        """A warm runner, for one candidate."""
        with self._lock:
            # What failed before says nothing of now.
            self._starting = [one for one in self._starting if not one.done() or one.exception() is None]
            if not self._idle and not self._starting:
                self._start()
            warm = self._idle.pop() if self._idle else None
            future = None if warm is not None else self._starting.pop(0)
            while len(self._idle) + len(self._starting) < self._spare:
                self._start()
        return warm if warm is not None else future.result()  # type: ignore[union-attr]

    def give_back(self, warm: Runner, clean: bool) -> None:
        """Take a runner back; one that is not clean, or has served long enough, is ended."""
        warm.served += 1
        if clean and self._pooled and warm.served < MOST:
            with self._lock:
                self._idle.append(warm)
        elif clean:
            with self._changing():
                self.end(warm)
        else:
            self.end(warm)

    def end(self, warm: Runner) -> int:
        """End a runner at once, for a kernel of its may run on; returns its status (negative = signal)."""
        return self._zygote.end(warm)

    def close(self) -> None:
        """End the runners that wait."""
        self._starter.shutdown(wait=True, cancel_futures=True)
        started = [future.result() for future in self._starting if not future.cancelled() and not future.exception()]
        for warm in [*self._idle, *started]:
            self.end(warm)
        self._idle.clear()
        self._starting.clear()

    def _start(self) -> None:
        future = self._starter.submit(self._new)
        self._starting.append(future)

        def ready(done: Future[Runner]) -> None:
            with self._lock:
                if done in self._starting and not done.cancelled() and done.exception() is None:
                    self._starting.remove(done)
                    self._idle.append(done.result())

        future.add_done_callback(ready)

    def _new(self) -> Runner:
        deadline = time.monotonic() + _WARM_SECONDS
        while True:
            folder = scratch.new()
            warm = self._zygote.start(self._limits(folder), folder, self._gpu)
            error: object
            try:
                with self._changing():  # not for ever: others wait meanwhile
                    wire.send(warm.channel, {"do": "warm"}, None, deadline)
                    wire.comes(warm.channel, _MOSTLY)
                reply, _ = wire.receive(warm.channel, deadline)
                if "error" not in reply:
                    return warm
                error = reply["error"]
                again = isinstance(error, dict) and lacks_memory(error)
            except wire.WireError as died:  # of no candidate: there is none yet
                error, again = died, True
            self.end(warm)
            if not again or time.monotonic() + _PAUSE > deadline:
                raise RuntimeError(f"a runner could not start on the GPU: {error}")
            time.sleep(_PAUSE)
