"""The pool: equal programs once, streams of any length, dead zygotes replaced, and nothing left of a killed parent."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from judging import DOUBLE, FORWARD, KERNEL, double

from tritonsmith.config import ConfigError, VerifyConfig
from tritonsmith.types import Candidate
from tritonsmith.verify import form, pool
from tritonsmith.verify.pool import Job, Verifier, choose_gpus

WRONG = double(kernel=KERNEL.replace("mask=mask)\n", ")\n"))
"""Stores out of bounds, which is found with its line."""
HANGS = double("        while x is not None:\n            pass\n" + FORWARD)
BATCH = """
import sys
from tritonsmith.config import VerifyConfig
from tritonsmith.types import Candidate, Task
from tritonsmith.verify.pool import Verifier

task = Task(id="double", level=1, source=open("task.py").read())
with Verifier(VerifyConfig(device="cpu", timeout=120, workers=1)) as verifier:
    verifier._zygotes["interpret"].wait_until_warm()
    print("warm", flush=True)
    verifier.verify_many([(task, Candidate(task="double", source=open("kernel.py").read()))])
"""


@pytest.fixture(scope="module")
def own() -> Iterator[Verifier]:
    """A verifier whose zygotes may be killed."""
    with Verifier(VerifyConfig(device="cpu", timing=False, workers=2)) as verifier:
        yield verifier


def _jobs(*sources: str | None) -> list[Job]:
    return [(DOUBLE, Candidate(task="double", sample=n, source=source)) for n, source in enumerate(sources)]


def _until(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()


# Equal programs.


def test_form_does_not_count_but_docstrings_and_values_do() -> None:
    same = "# a comment\n\n" + double().replace("return out", "return   (out)  # done")
    assert form.program(double()) == form.program(same)
    assert form.program(double()) != form.program(double().replace("2.0", "3.0"))
    assert form.program(double()) != form.program(double().replace("(nn.Module):", '(nn.Module):\n    """Text."""'))
    assert len({form.program(source) for source in (None, "", "def (", "def  (")}) == 4


def test_form_counts_where_triton_reads_an_indented_kernel_as_text() -> None:
    nested = "def make():\n    @jit\n    def kernel():\n        pass\n"
    assert form.program(nested) != form.program(nested.replace("        pass", "# low\n        pass"))


def test_equal_programs_share_a_verdict_in_their_own_lines(own: Verifier) -> None:
    first, second = own.verify_many(_jobs(WRONG, "# one line more\n" + WRONG))
    assert first.seconds == second.seconds and [first.sample, second.sample] == [0, 1]
    [line] = {finding.line for finding in first.findings}
    assert line is not None and second.findings[0].line == line + 1


# Streams.


def test_a_stream_is_read_as_there_is_room(own: Verifier) -> None:
    taken: list[int] = []

    def endless() -> Iterator[Job]:
        for number in range(1_000_000):
            taken.append(number)
            yield DOUBLE, Candidate(task="double", sample=number, source=f"x = {number}")

    verdicts = own.stream(endless())
    numbers = [next(verdicts)[0] for _ in range(40)]
    verdicts.close()
    assert len(set(numbers)) == 40 and len(taken) < 400


def test_a_stream_does_not_keep_all_that_it_has_told(own: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program and verdict of a stream stayed in memory, of which an input may be larger."""
    texts = [f"x = '{number:04}{'x' * 10_000}'" for number in range(200)]
    one = len(own.verify(*_jobs(texts[0])[0]).model_dump_json()) + len(texts[0])
    monkeypatch.setattr(pool, "_REMEMBERED", 10 * one)
    verdicts = own.stream(iter(_jobs(*texts, texts[-1], texts[0])))
    told = [next(verdicts) for _ in range(202)]
    groups = [thing for thing in gc.get_objects() if type(thing) is pool._Group]
    verdicts.close()
    assert len(groups) < 15 and sorted(index for index, _ in told) == list(range(202))


def test_a_source_that_takes_its_time_keeps_no_verdict_back(own: Verifier) -> None:
    told = threading.Event()

    def slow() -> Iterator[Job]:
        yield from _jobs(None)
        assert told.wait(20), "the first verdict waits for the second job"
        yield from _jobs(None)

    found = []
    for index, _ in own.stream(slow()):
        found.append(index)
        told.set()
    assert found == [0, 1]


def test_what_a_source_raises_is_raised_to_who_listens(own: Verifier) -> None:
    def broken() -> Iterator[Job]:
        yield from _jobs(None)
        raise ConfigError("no more")

    with pytest.raises(ConfigError, match="no more"):
        own.verify_many(broken())


def test_a_stream_that_is_left_closes_its_source(own: Verifier) -> None:
    closed = threading.Event()

    def endless() -> Iterator[Job]:
        try:
            while True:
                yield from _jobs(None)
        finally:
            closed.set()

    stream = own.stream(endless())
    next(stream)
    stream.close()
    assert closed.wait(20)


def test_a_stream_that_is_left_kills_what_is_under_way_and_the_next_one_works(own: Verifier) -> None:
    verdicts = own.stream(_jobs("no code", HANGS))
    next(verdicts)
    start = time.monotonic()
    verdicts.close()
    assert time.monotonic() - start < 15
    assert own.verify_many(_jobs(double()))[0].correct


# Zygotes that die.


@pytest.mark.parametrize("mode", ["interpret", "capture"])
def test_a_dead_zygote_is_replaced_and_its_candidates_are_judged_again(own: Verifier, mode: str) -> None:
    slow = double(FORWARD.replace("out = ", "for _ in range(30_000_000):\n            pass\n        out = ", 1))
    own._zygotes[mode].wait_until_warm()
    process = own._zygotes[mode]._process
    killer = threading.Timer(0.5, process.kill)
    killer.start()
    verdicts = own.verify_many(_jobs(slow, double()))
    killer.join()
    assert [verdict.correct for verdict in verdicts] == [True, True], verdicts
    assert process.poll() is not None and own._zygotes[mode]._process is not process


# A parent that is killed or interrupted.


def _started(folder: Path) -> subprocess.Popen[str]:
    """A process that judges a candidate which never ends; returns when its runner is busy."""
    (folder / "task.py").write_text(DOUBLE.source)
    (folder / "kernel.py").write_text(HANGS)
    (folder / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    process = subprocess.Popen(
        [sys.executable, "-c", BATCH], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "warm\n"
    time.sleep(3)
    assert len(_working_in(folder)) > 1 and list((folder / "tmp").iterdir())
    return process


def _working_in(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and Path(os.readlink(entry / "cwd")).is_relative_to(folder):
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
                found += [entry.name] if state != "Z" else []
        except OSError:
            continue
    return found


def test_nothing_is_left_of_a_parent_that_was_killed(tmp_path: Path) -> None:
    process = _started(tmp_path)
    process.kill()
    process.wait()
    assert _until(lambda: not _working_in(tmp_path), 5)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_an_interrupt_ends_it_soon_and_leaves_nothing(tmp_path: Path) -> None:
    process = _started(tmp_path)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert time.monotonic() - start < 15
    assert _until(lambda: not _working_in(tmp_path), 5)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_more_gpus_than_there_are_is_a_users_error() -> None:
    with pytest.raises(ConfigError, match="gpus=99"):
        choose_gpus(99)
