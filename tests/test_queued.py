"""What counts as a process's own time, on processors that others use too."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tritonsmith.verify.process import queued
from tritonsmith.verify.process.queued import Stopwatch

SPIN = "while True: pass"


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that are ended with the test."""
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()


def on_one_core(text: str) -> subprocess.Popen[bytes]:
    """A process that runs `text` on the first processor that there is."""
    process = subprocess.Popen([sys.executable, "-S", "-c", text])
    os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
    return process


def test_what_others_take_of_a_processor_is_not_counted(started: list[subprocess.Popen[bytes]]) -> None:
    started += [on_one_core(SPIN) for _ in range(3)]
    if queued.queued(started[0].pid) is None:
        pytest.skip("this kernel does not count how long processes wait")
    time.sleep(0.5)
    watch, began = Stopwatch(started[0].pid), time.monotonic()
    time.sleep(3)
    wall = time.monotonic() - began
    assert wall / queued.PATIENCE <= watch.spent() < 0.7 * wall


def test_who_sleeps_is_counted_whole(started: list[subprocess.Popen[bytes]]) -> None:
    started.append(on_one_core("import time; time.sleep(60)"))
    time.sleep(0.5)
    watch, began = Stopwatch(started[0].pid), time.monotonic()
    time.sleep(1)
    assert watch.spent() > 0.9 * (time.monotonic() - began)


def test_who_is_gone_is_counted_whole() -> None:
    process = subprocess.Popen([sys.executable, "-S", "-c", ""])
    watch = Stopwatch(process.pid)
    process.wait()
    time.sleep(0.2)
    assert watch.spent() >= 0.2
