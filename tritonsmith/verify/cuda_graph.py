"""Calls recorded once as CUDA graphs, and trials made of what was recorded, which the device goes through alone.

A launch from a stream costs what the process's channel to the GPU costs, 1 us more or less from one process to the next
however often a kernel runs (`benchmarks/timing.py`); a graph's launches do not. A block of trials is one graph. In each
trial the caches are overwritten, each recorded call is run once where several are timed, and then come an event, the
calls that are timed and another event. All calls are the same recorded work, so an answer that this work gives to
contents which came after it was recorded speaks for all of them, but for those of who keeps answers by contents
(`rechecked`). Nothing here waits for the device more often than it must: where several processes share one, each wait
lasts until all of them have had their turn (`benchmarks/sharing.py`). What a graph cannot hold (a forward that waits
for the device, for example) is told, and is for the caller to time otherwise.

Torch records; it has no graphs of graphs, so these are made by the driver's own functions (CUDA Driver API, Graph
Management).
"""

import ctypes
import functools
import itertools
import threading
import weakref
from collections.abc import Callable, Sequence

import torch

from tritonsmith.tasks.format import undrawn
from tritonsmith.verify.process.cuda_driver import call as call_driver
from tritonsmith.verify.process.cuda_driver import library

Calls = Sequence[Callable[[], object]]

_NODE = ctypes.c_void_p
_ROUNDS, _BRIEF_MS, _TRIALS = 4, 0.1, 3
"""Rounds of all calls in a trial that says how long one takes, roughly, where they are as brief as that, and such
trials."""


class Trials:
    """A graph of several trials, which is run as a whole."""

    def __init__(self, plan: Sequence[tuple[Sequence[int], Sequence[int]]]) -> None:
        """For each trial the graphs to run before its first event, and those between its two; raises OSError where the
        driver refuses."""
        self._exec = ctypes.c_void_p()
        self._events = [tuple(torch.cuda.Event(enable_timing=True) for _ in range(2)) for _ in plan]
        for event in itertools.chain(*self._events):
            event.record()  # an event has no handle before it was recorded once
        graph, last = ctypes.c_void_p(), _NODE()
        call_driver("cuGraphCreate", ctypes.byref(graph), ctypes.c_uint(0))
        try:
            for (before, timed), (start, end) in zip(plan, self._events, strict=True):
                for child in before:
                    last = _after(last, "cuGraphAddChildGraphNode", graph, child)
                last = _after(last, "cuGraphAddEventRecordNode", graph, start.cuda_event)
                for child in timed:
                    last = _after(last, "cuGraphAddChildGraphNode", graph, child)
                last = _after(last, "cuGraphAddEventRecordNode", graph, end.cuda_event)
            call_driver("cuGraphInstantiateWithFlags", ctypes.byref(self._exec), graph, ctypes.c_ulonglong(0))
            weakref.finalize(self, _destroyed, self._exec)
        finally:
            call_driver("cuGraphDestroy", graph)

    def begin(self) -> None:
        """Run it; nobody waits for the end. Raises OSError where the driver refuses."""
        call_driver("cuGraphLaunch", self._exec, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))

    def took(self) -> list[float]:
        """Milliseconds between the two events of each trial, of the last run, which is done."""
        return [start.elapsed_time(end) for start, end in self._events]

    def run(self) -> list[float]:
        """Run it, and give the milliseconds of each trial."""
        self.begin()
        torch.cuda.current_stream().synchronize()
        return self.took()


class Recording:
    """Calls as they were recorded, and their trials."""

    def __init__(
        self, graphs: Sequence[torch.cuda.CUDAGraph], flush: torch.cuda.CUDAGraph, memory: object, about: float
    ) -> None:
        """`memory` is kept for as long as the graphs, which know nothing but its addresses; a call that was not
        recorded takes `about` so many milliseconds, 0 where that is not known."""
        self._graphs, self._flush, self._memory = graphs, flush, memory
        self._brief = about < _BRIEF_MS
        self._block: Trials | None = None
        self._cold: list[Trials] = []
        self._repeats = 1

    def estimate(self) -> float | None:
        """Milliseconds of a call, roughly: other processes may have the device meanwhile. None where the driver makes
        no trials."""
        for graph in self._graphs:
            # By torch's own replay, which alone gives a call that draws random numbers what they come from.
            graph.instantiate()
            graph.replay()
        self._made(_ROUNDS * len(self._graphs) if self._brief else 1, _TRIALS)
        torch.cuda.current_stream().synchronize()
        return min(self._block.took()) / self._repeats if self._block is not None else None

    def make(self, repeats: int, trials: int, singly: bool = False) -> bool:
        """Make so many trials of so many calls, as one graph, and (`singly`) what `begin` runs; tells whether the
        driver does.

        The host has a block of trials to begin, and not each of them: it may be busy, and its thread may have to wait
        for the interpreter, while nobody else may use the device.
        """
        made = self._made(repeats, trials, singly)
        torch.cuda.current_stream().synchronize()
        return made

    def _made(self, repeats: int, trials: int, singly: bool = False) -> bool:
        calls, overwrites = [graph.raw_cuda_graph() for graph in self._graphs], self._flush.raw_cuda_graph()
        before, self._repeats = [overwrites, *(calls if repeats > 1 else ())], repeats
        plan = [
            (before, [calls[(trial + number) % len(calls)] for number in range(repeats)]) for trial in range(trials)
        ]
        try:
            self._block = Trials(plan)
            self._cold = [Trials([([overwrites], [call])]) for call in calls] if singly else []
            for made in (self._block, *self._cold):  # the first run of a graph brings it to the device
                made.begin()
        except OSError:  # no memory is left for them, for example
            self._block = None
        return self._block is not None

    def block(self, trials: int) -> list[float]:
        """Milliseconds of a call in each of so many trials; as many as there are in a graph are run at once."""
        times: list[float] = []
        while self._block is not None and len(times) < trials:
            times += [milliseconds / self._repeats for milliseconds in self._block.run()]
        return times[:trials]

    def begin(self, number: int) -> None:
        """Overwrite the caches and run one of the calls; what it gave when it was recorded has this one's answer in the
        end. Nobody waits for that; see `ended`."""
        self._cold[number].begin()

    def ended(self, numbers: Sequence[int]) -> list[float]:
        """Wait for what was begun, and give the milliseconds of the last run of each of these calls."""
        torch.cuda.current_stream().synchronize()
        return [self._cold[number].took()[0] for number in numbers]


def record(calls: Calls, buffer: torch.Tensor, about: float = 0.0) -> Recording | None:
    """Record each of the calls, which were called before; None where a graph cannot hold one of them, or no memory is
    left for it beside what the calls took before.

    Overwriting `buffer` overwrites the caches; a call takes `about` so many milliseconds, as far as that is known.
    """
    stream = _aside()
    stream.wait_stream(torch.cuda.current_stream())
    try:
        graphs = _graphs(calls, buffer, stream)
    finally:
        torch.cuda.current_stream().wait_stream(stream)
    return Recording(graphs[1:], graphs[0], (buffer, calls), about) if graphs else None


def _graphs(calls: Calls, buffer: torch.Tensor, stream: torch.cuda.Stream) -> list[torch.cuda.CUDAGraph]:
    """What overwrites the caches, and each of the calls, as graphs; nothing where that is not possible."""
    with torch.cuda.stream(stream):
        try:
            for call in calls:  # libraries set themselves up for a stream in their first call there, which waits
                call()
        except torch.OutOfMemoryError:
            return []
        pool = torch.cuda.graph_pool_handle()
        graphs: list[torch.cuda.CUDAGraph] = []
        for call in (buffer.zero_, *calls):
            if (graph := _recorded(call, pool)) is None:
                return []
            graphs.append(graph)
    return graphs


def waits(calls: Calls) -> bool:
    """Whether one of the calls waits for the device, as far as torch tells, which a graph cannot hold.

    For a process of one thread: torch's switch is that of all threads.
    """
    torch.cuda.set_sync_debug_mode("error")
    try:
        for call in calls:
            call()
    except RuntimeError:
        return True
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return False


recording = threading.RLock()
"""Held while calls are recorded, and by whoever waits for all that the process has the GPU do, which CUDA forbids
meanwhile. Torch frees no memory for others then: who asks for more than there is is refused at once."""
_PATIENCE = 1.0
"""Seconds that a recording waits for others; compiling takes minutes."""
_unfinished: list[torch.cuda.CUDAGraph] = []
"""Graphs whose recording failed: torch's allocators may still ask them."""


def _recorded(call: Callable[[], object], pool: tuple[int, int]) -> torch.cuda.CUDAGraph | None:
    """A call on the current stream as a graph that keeps what it may be copied from."""
    if not recording.acquire(timeout=_PATIENCE):
        return None
    try:
        return _captured(call, pool)
    finally:
        recording.release()


def _captured(call: Callable[[], object], pool: tuple[int, int]) -> torch.cuda.CUDAGraph | None:
    device = torch.cuda.current_device()
    generator = torch.cuda.default_generators[device]
    # Other threads go on meanwhile; one that drew random numbers would be refused.
    with undrawn():
        before = generator.clone_state()
        graph, held = torch.cuda.CUDAGraph(keep_graph=True), True
        graph.capture_begin(pool=pool, capture_error_mode="thread_local")  # type: ignore[arg-type]
        try:
            call()
        except Exception:  # the callable's own, or CUDA's word for what a graph cannot hold
            held = False
        try:
            graph.capture_end()
        except RuntimeError:
            # Torch leaves the generator and the allocators in the middle of it.
            _unfinished.append(graph)
            torch._C._cuda_endAllocateToPool(device, pool)
            torch._C._cuda_releasePool(device, pool)
            generator.graphsafe_set_state(before)
            held = False
    return graph if held else None


def _aside() -> torch.cuda.Stream:
    """The current stream, or, for the default one, which cannot be recorded, another that is always the same."""
    current = torch.cuda.current_stream()
    return current if current != torch.cuda.default_stream() else _second(torch.cuda.current_device())


@functools.cache
def _second(device: int) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)


def _destroyed(made: ctypes.c_void_p) -> None:
    library()["cuGraphExecDestroy"](made)  # whatever the driver says to it: nobody waits for an answer


def _after(last: _NODE, function: str, graph: ctypes.c_void_p, what: int) -> _NODE:
    """Add a node behind the last one."""
    node = _NODE()
    before = (_NODE * 1)(last) if last else None
    call_driver(function, ctypes.byref(node), graph, before, ctypes.c_size_t(1 if last else 0), ctypes.c_void_p(what))
    return node
