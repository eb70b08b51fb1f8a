"""A thing in parts: who waits for how many, across threads and processes."""

import subprocess
import sys
import threading
import time
from pathlib import Path

from tritonsmith.verify.process.allotment import Allotment

HOLDS = """
import sys, time
from pathlib import Path
from tritonsmith.verify.process.allotment import Allotment
with Allotment(Path(sys.argv[1]), 8).taken(6):
    print("held", flush=True)
    time.sleep(60)
"""


def _start(allotment: Allotment, count: int, begun: threading.Event) -> threading.Thread:
    def work() -> None:
        with allotment.taken(count):
            begun.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_what_fits_is_taken_side_by_side(tmp_path: Path) -> None:
    one, other = Allotment(tmp_path, 8), Allotment(tmp_path, 8)
    with one.taken(5), other.taken(3):
        begun = threading.Event()
        thread = _start(one, 1, begun)
        assert not begun.wait(0.1)
    assert begun.wait(5)
    thread.join(5)


def test_more_than_there_is_is_all_of_it(tmp_path: Path) -> None:
    allotment, begun = Allotment(tmp_path, 8), threading.Event()
    with allotment.taken(100):
        thread = _start(allotment, 1, begun)
        assert not begun.wait(0.1)
    assert begun.wait(5)
    thread.join(5)


def test_who_needs_few_does_not_starve_who_needs_all(tmp_path: Path) -> None:
    allotment, all_of_it, over = Allotment(tmp_path, 4), threading.Event(), threading.Event()

    def few() -> None:
        while not over.is_set():
            with allotment.taken(1):
                time.sleep(0.01)

    threads = [threading.Thread(target=few, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    threads.append(_start(allotment, 4, all_of_it))
    assert all_of_it.wait(10)
    over.set()
    for thread in threads:
        thread.join(10)


def test_what_a_killed_process_had_is_free_again(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        begun = threading.Event()
        thread = _start(Allotment(tmp_path, 8), 8, begun)
        assert not begun.wait(0.1)
        process.kill()
    assert begun.wait(10)
    thread.join(10)
