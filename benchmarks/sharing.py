"""What it costs several processes to share one GPU: microseconds of a launch that is waited for, and of its kin.

    python benchmarks/sharing.py [--most 16] [--seconds 1]

Each process has a context of its own, as judges and runners have. Contexts take turns on a GPU, so who waits for the
device waits until each that has work there has had its turn; the first column, one process alone, is the baseline. What
is opened is memory of one process more, which does nothing else. A microsecond's worth of Python and of a pipe are
measured beside, to tell the device's part from the host's. Needs a GPU; nothing is written.
"""

import os
import time
from collections.abc import Callable
from statistics import mean

import torch
import torch.multiprocessing as processes
import typer
from rich.console import Console
from rich.table import Table

from tritonsmith.verify.process import ipc
from tritonsmith.verify.process.wire import Place

SMALL, LARGE = 1 << 16, 64 << 20
"""Bytes that are copied, and allocated."""
LAUNCHES = 10


def calls(place: Place) -> dict[str, Callable[[], object]]:
    """What is measured, by its name; `place` is where another process's memory lies."""
    here, there = torch.zeros(SMALL // 4), torch.zeros(SMALL // 4, device="cuda")
    pinned = torch.zeros(SMALL // 4).pin_memory()
    reads, writes = os.pipe()

    def launched(times: int) -> None:
        for _ in range(times):
            there.add_(1)
        torch.cuda.current_stream().synchronize()

    def allocated() -> None:
        torch.cuda.caching_allocator_delete(torch.cuda.caching_allocator_alloc(LARGE))
        torch.cuda.empty_cache()

    def opened() -> None:
        windows = ipc.Windows()
        windows.view(place)
        windows.close()

    def recorded() -> None:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(LAUNCHES):
                there.add_(1)
        graph.replay()
        torch.cuda.current_stream().synchronize()

    def queued() -> None:
        there.copy_(pinned, non_blocking=True)
        torch.cuda.current_stream().synchronize()

    return {
        "a launch, waited for": lambda: launched(1),
        f"{LAUNCHES} launches, waited for once": lambda: launched(LAUNCHES),
        "64 KiB to the device": lambda: there.copy_(here),
        "64 KiB of pinned memory to the device": queued,
        "64 KiB from the device": lambda: here.copy_(there),
        "another process's memory opened and closed": opened,
        f"{LAUNCHES} launches recorded as a graph and run": recorded,
        "64 MiB allocated and freed": allocated,
        "a sum in Python": lambda: sum(range(1000)),
        "a byte through a pipe": lambda: (os.write(writes, b"x"), os.read(reads, 1)),
    }


def _measure(
    together: "processes.Barrier",  # type: ignore[type-arg]
    found: "processes.Queue",  # type: ignore[type-arg]
    seconds: float,
    place: Place,
) -> None:
    told: dict[str, float] = {}
    for name, call in calls(place).items():
        call()
        together.wait()
        begun, count = time.perf_counter(), 0
        while time.perf_counter() - begun < seconds:
            call()
            count += 1
        told[name] = 1e6 * (time.perf_counter() - begun) / count
    found.put(told)


def shared(count: int, seconds: float) -> dict[str, float]:
    """Microseconds of each call in the mean, in so many processes at once."""
    context = processes.get_context("spawn")
    together, found = context.Barrier(count), context.Queue()
    memory = torch.zeros(SMALL // 4, device="cuda")
    given = together, found, seconds, ipc.export(memory)
    begun = [context.Process(target=_measure, args=given) for _ in range(count)]
    for one in begun:
        one.start()
    rows = [found.get() for _ in begun]
    for one in begun:
        one.join()
    return {name: mean(row[name] for row in rows) for name in rows[0]}


def main(most: int = 16, seconds: float = 1.0) -> None:
    """Measure and print."""
    if not torch.cuda.is_available():
        raise SystemExit("this needs a GPU: torch finds none")
    counts = [count for count in (1, 2, 4, 8, 16, 32) if count <= most]
    rows = [shared(count, seconds) for count in counts]
    table = Table("microseconds", *(f"{count} processes" if count > 1 else "one process" for count in counts))
    for name in rows[0]:
        table.add_row(name, *(f"{row[name]:.0f}" for row in rows))
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
