"""Calls recorded once as CUDA graphs, and trials made of what was recorded, which the device goes through alone.

A launch from a stream costs what the process's channel to the GPU costs, 1 us more or less from one process to the next
however often a kernel runs (`benchmarks/timing.py`); a graph's launches do not. A trial is one graph: the caches are
overwritten, each recorded call is run once where several are timed, and then come an event, the calls that are timed
and another event. All calls of a trial are the same recorded work, so an answer that this work gives to contents which
came after it was recorded speaks for all of them. What a graph cannot hold (a forward that waits for the device, for
example) is told, and is for the caller to time otherwise.

Torch records; it has no graphs of graphs, so these are made by the driver's own functions (CUDA Driver API, Graph
Management).
"""

import contextlib
import ctypes
import functools
from collections.abc import Callable, Sequence

import torch

from tritonsmith.tasks.format import undrawn

Calls = Sequence[Callable[[], object]]

_NODE = ctypes.c_void_p


class Trial:
    """A graph that is run as a whole, and times the calls in it."""

    def __init__(self, before: Sequence[int], timed: Sequence[int]) -> None:
        """Graphs to run before the first event, and between the two; raises OSError where the driver refuses."""
        self._exec = ctypes.c_void_p()
        self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        for event in self._events:
            event.record()  # an event has no handle before it was recorded once
        graph, last = ctypes.c_void_p(), _NODE()
        _driver("cuGraphCreate", ctypes.byref(graph), ctypes.c_uint(0))
        try:
            for child in before:
                last = _after(last, "cuGraphAddChildGraphNode", graph, child)
            last = _after(last, "cuGraphAddEventRecordNode", graph, self._events[0].cuda_event)
            for child in timed:
                last = _after(last, "cuGraphAddChildGraphNode", graph, child)
            _after(last, "cuGraphAddEventRecordNode", graph, self._events[1].cuda_event)
            _driver("cuGraphInstantiateWithFlags", ctypes.byref(self._exec), graph, ctypes.c_ulonglong(0))
        finally:
            _driver("cuGraphDestroy", graph)

    def run(self) -> float:
        """Milliseconds between the events."""
        stream = torch.cuda.current_stream()
        _driver("cuGraphLaunch", self._exec, ctypes.c_void_p(stream.cuda_stream))
        stream.synchronize()
        return self._events[0].elapsed_time(self._events[1])

    def __del__(self) -> None:
        if self._exec:
            _driver("cuGraphExecDestroy", self._exec)


class Recording:
    """Calls as they were recorded, and their trials."""

    def __init__(self, graphs: Sequence[torch.cuda.CUDAGraph], flush: torch.cuda.CUDAGraph, repeats: int) -> None:
        """`repeats` recorded calls are timed in each trial; the trials begin with one call after the other.

        Raises OSError where the driver refuses.
        """
        self._graphs, self._flush, self.repeats, self._next = graphs, flush, repeats, 0
        calls, overwrites = [graph.raw_cuda_graph() for graph in graphs], flush.raw_cuda_graph()
        round_ = calls if repeats > 1 else []
        self._trials = [
            Trial([overwrites, *round_], [calls[(first + number) % len(calls)] for number in range(repeats)])
            for first in range(len(calls) if repeats < len(calls) else 1)
        ]
        for graph in graphs:  # what a call draws is drawn anew by torch's own replay alone
            graph.replay()
        for trial in self._trials:  # the first run of a graph brings it to the device
            trial.run()

    def block(self, trials: int) -> list[float]:
        """Milliseconds of a call in each of so many trials."""
        times = []
        for _ in range(trials):
            times.append(self._trials[self._next].run() / self.repeats)
            self._next = (self._next + 1) % len(self._trials)
        return times

    def replay(self, number: int) -> None:
        """Run a call once as it was recorded; what it gave then has the new answer when this returns."""
        self._graphs[number].replay()
        torch.cuda.current_stream().synchronize()


def record(calls: Calls, buffer: torch.Tensor, repeats: int) -> Recording | None:
    """Record each of the calls, which were called before; None where a graph cannot hold one of them.

    Overwriting `buffer` overwrites the caches.
    """
    torch.cuda.current_stream().synchronize()
    stream = _aside()
    with torch.cuda.stream(stream):
        for call in calls:  # libraries set themselves up for a stream in their first call there, which waits
            call()
        stream.synchronize()
        pool = torch.cuda.graph_pool_handle()
        graphs: list[torch.cuda.CUDAGraph] = []
        for call in (buffer.zero_, *calls):
            if (graph := _recorded(call, pool)) is None:
                return None
            graphs.append(graph)
    with contextlib.suppress(OSError):
        return Recording(graphs[1:], graphs[0], repeats)
    return None


def _recorded(call: Callable[[], object], pool: tuple[int, int]) -> torch.cuda.CUDAGraph | None:
    """A call on the current stream as a graph that keeps what it may be copied from."""
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
            # Torch leaves the generator and the allocator in the middle of it.
            torch._C._cuda_endAllocateToPool(device, pool)
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


def _after(last: _NODE, function: str, graph: ctypes.c_void_p, what: int) -> _NODE:
    """Add a node behind the last one."""
    node = _NODE()
    before = (_NODE * 1)(last) if last else None
    _driver(function, ctypes.byref(node), graph, before, ctypes.c_size_t(1 if last else 0), ctypes.c_void_p(what))
    return node


def prepare() -> None:
    """Load the driver's library, before a sandbox forbids that."""
    _library()


@functools.cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _driver(function: str, *arguments: object) -> None:
    """Call one of the driver's functions; raises OSError with its number where it fails."""
    status = getattr(_library(), function)(*arguments)
    if status != 0:
        raise OSError(status, f"{function} fails")
