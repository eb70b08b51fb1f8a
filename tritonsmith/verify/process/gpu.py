"""Who may use one GPU when: many candidates at once while values are computed, one alone while it is timed.

Also admits work by the memory it needs, so that candidates of large tasks wait for each other instead of failing.
Both hold among all the processes that judge on the GPU; see `turnstile` and `allotment`. Nobody may wait for room while
sharing: take the room first. Knows nothing of candidates.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path

import torch

from tritonsmith.brisk import brisk
from tritonsmith.verify.process import scratch
from tritonsmith.verify.process.allotment import Allotment
from tritonsmith.verify.process.keeping import runner_keeps
from tritonsmith.verify.process.turnstile import Turnstile

_IDLE = 1 << 30, 3 << 30
"""Bytes that a judge process may keep without using them, at least and at most; torch keeps for each thread's stream
what that freed."""
_IDLE_SHARE = 16
"""Part of the memory that all judges may keep so. To give memory back, and to ask for it anew, waits for every process
on the GPU in turn (`benchmarks/sharing.py`)."""
_SCARCE = 2 << 30
"""Bytes left on a GPU below which who asks for memory in vain may have been refused for what others took."""
_USABLE = 0.94
"""Share of the GPU's memory that is there for contexts and for work; the rest is what judges keep for others to use."""
_CONTEXT = 1 << 30
"""Bytes that a process takes without any work (612 to 1,980 MiB a runner, nearly all 734), beside what it keeps."""
_FREE, _PATIENCE, _PAUSE = 0.75, 5.0, 0.05
"""Share of what work may plan with that is to be free for who has all of it, seconds to wait for that, and between two
looks. Seen on 80 GB: a ReLU of 6.4 GB took 55 where 44 were planned with, and two small kernels were refused twice."""
_AWAITED = 2.0
"""Seconds that a process waits for who is alone on the GPU before it begins or ends there all the same."""
_PARTS = 128
"""Parts that the memory is planned in."""
_LEAST = 0.3
"""Share of the memory that work may plan with however many runners there are."""


@dataclass(frozen=True)
class Part:
    """What one judge process has of a GPU."""

    gates: Path
    """A folder that all the processes on this GPU share, for their locks."""
    judges: int = 1
    """How many processes there are."""
    runners: int = 0
    """How many runners all of them have there."""


def parts(gates: Sequence[Path], seats: int, spare: int, judges: int = 1) -> list[Part]:
    """What a process has of the GPUs with these folders: it judges `seats` candidates at once, with `spare` runners
    ready on each GPU, and `judges` such processes share them."""
    runners = judges * (math.ceil(seats / max(len(gates), 1)) + spare)
    return [Part(folder, judges, runners) for folder in gates]


@dataclass
class Use:
    """Seconds that candidates had a GPU, or waited for it, in all; those who share are counted one by one."""

    alone: float = 0.0
    shared: float = 0.0
    waited: float = 0.0
    kernels: int = 0
    """Those that were compiled by `compilers`,"""
    known: int = 0
    """and of these the ones that had been before, most of them for other candidates."""

    def __add__(self, other: "Use") -> "Use":
        return self._with(other, 1)

    def __sub__(self, other: "Use") -> "Use":
        return self._with(other, -1)

    def _with(self, other: "Use", sign: int) -> "Use":
        return Use(*(getattr(self, one.name) + sign * getattr(other, one.name) for one in fields(self)))


class Gpu:
    """One GPU as a process uses it."""

    def __init__(self, index: int, part: Part | None = None, memory: int | None = None) -> None:
        """`part`: what is this process's where several judge on the GPU; `memory`: bytes, where not the GPU's own."""
        self.index, self.part = index, part or Part(scratch.new())
        self.memory = memory if memory is not None else torch.cuda.get_device_properties(index).total_memory
        self._turns, self._memory = Turnstile(self.part.gates / "turns"), Allotment(self.part.gates / "memory", _PARTS)
        self._idle = min(max(self.memory // (_IDLE_SHARE * self.part.judges), _IDLE[0]), _IDLE[1])
        idle = self.part.runners * (_CONTEXT + runner_keeps(self.memory))
        idle += self.part.judges * (_CONTEXT + self._idle) if self.part.runners else 0
        self.usable = max(int(self.memory * _USABLE - idle), int(self.memory * _LEAST))
        """Bytes that admitted work may plan with."""
        self._mine, self._counting = threading.local(), threading.Lock()
        self.use = Use()

    @property
    def wanted(self) -> bool:
        """Whether somebody waits for whoever has the GPU alone."""
        return self._turns.wanted

    def scarce(self) -> bool:
        """Whether less memory is left than this thread plans with, or hardly any: others have taken it then."""
        return torch.cuda.mem_get_info(self.index)[0] < max(_SCARCE, self._planned_here)

    @contextmanager
    def room(self, needs: int) -> Iterator[None]:
        """Plan with `needs` bytes of memory; more than there is is taken for all of it, and then admits nobody else.

        A thread that plans with as much already has it.
        """
        planned, before = min(needs, self.usable), self._planned_here
        if planned <= before:
            yield
            return
        if before:
            raise RuntimeError("a thread that plans with some memory may not wait for more: others may wait for its")
        try:
            with self._memory.taken(math.ceil(_PARTS * planned / self.usable)):
                self._mine.planned = planned
                yield
        finally:
            self._mine.planned = 0
            if planned > self._idle:
                self.tidy()

    def wait_until_free(self, seconds: float = _PATIENCE) -> None:
        """Wait for memory that was planned with before and is planned with here: it is given back a little later."""
        end = time.monotonic() + seconds
        while torch.cuda.mem_get_info(self.index)[0] < _FREE * self.usable and time.monotonic() < end:
            time.sleep(_PAUSE)

    @property
    def whole(self) -> bool:
        """Whether this thread plans with all the memory, so that no other candidate takes any."""
        return self._planned_here >= self.usable

    @property
    def _planned_here(self) -> int:
        planned: int = getattr(self._mine, "planned", 0)
        return planned

    def tidy(self) -> None:
        """Give back what torch keeps of freed memory, if it is much: others cannot use it."""
        if torch.cuda.memory_reserved(self.index) - torch.cuda.memory_allocated(self.index) > self._idle:
            torch.cuda.empty_cache()

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Compute beside others; what this thread has begun on its stream is done thereafter.

        Who wants the GPU alone waits for all who share it, so much work is better done in several short turns.
        """
        asked = time.monotonic()
        with self._turns.shared(), brisk():
            began, self._mine.has = time.monotonic(), True
            try:
                yield
                self._wait()
            except BaseException:
                with suppress(RuntimeError):  # that error is the news, whatever CUDA says of what came before it
                    self._wait()
                raise
            finally:
                self._mine.has = False
                self._count(Use(shared=time.monotonic() - began, waited=began - asked))

    def _wait(self) -> None:
        if torch.cuda.is_initialized():
            torch.cuda.current_stream(self.index).synchronize()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Have a process begin or end on the GPU, which takes it from who is timed there: not while somebody is alone,
        unless that is this thread, or lasts for long.

        Seen on one H200: while a context was created, a kernel of 1 to 3 ms took 0.35 ms longer in a third of its runs.
        """
        if getattr(self._mine, "has", False):
            yield
            return
        with self._turns.shared_within(_AWAITED):
            yield

    @contextmanager
    def alone(self, first: Callable[[], object] | None = None) -> Iterator[Callable[[], None]]:
        """Have the GPU to oneself, in every process that judges on it; `first` is done while others still share it.
        What this gives lets others share it again, beside whom the rest is done, unless somebody waits to be alone.

        Nobody new shares it from the moment on that this is asked for. To wait for others who want it alone first, so
        that it is emptied less often, gained nothing (simulated: 60 ms alone, 16 and 24 candidates at a time; 25.3 and
        29.7 a second at once, 24.8 and 28.7 after a wait).
        """
        asked, before, shared = time.monotonic(), 0.0, math.inf

        def begun() -> None:
            nonlocal before
            since, self._mine.has = time.monotonic(), True
            try:
                if first is not None:
                    first()
                self._wait()
            except BaseException:
                with suppress(RuntimeError):  # as in `shared`
                    self._wait()
                self._count(Use(shared=time.monotonic() - since, waited=since - asked))
                raise
            finally:
                self._mine.has, before = False, time.monotonic() - since

        with self._turns.alone(begun if first is not None else None) as others, brisk():
            began, self._mine.has = time.monotonic(), True

            def share() -> None:
                nonlocal shared
                shared = min(shared, time.monotonic())
                others()

            try:
                yield share
                self._wait()
            finally:
                self._mine.has, now = False, time.monotonic()
                alone, beside = min(now, shared) - began, before + max(now - shared, 0.0)
                self._count(Use(alone=alone, shared=beside, waited=began - asked - before))

    def _count(self, use: Use) -> None:
        with self._counting:
            self.use += use
