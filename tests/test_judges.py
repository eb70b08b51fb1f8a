"""Judges in processes of their own: the same verdicts, nothing lost with one that dies, nothing left of any; and the
turnstile by which several processes use one GPU, for which no GPU is needed."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from judging import DOUBLE, FORWARD, KERNEL, SUITE, double, kernel, rules

from tritonsmith.config import VerifyConfig
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify.apart import Apart
from tritonsmith.verify.court import Court, Seat
from tritonsmith.verify.panel import Panel
from tritonsmith.verify.pool import Job, Verifier, _places, choose_judges
from tritonsmith.verify.process.gpu import Gpu, Part, Use
from tritonsmith.verify.process.turnstile import Turnstile

SLOW = double(FORWARD.replace("out = ", "for _ in range(30_000_000):\n            pass\n        out = ", 1))
HANGS = double("        while x is not None:\n            pass\n" + FORWARD)
BATCH = """
from tritonsmith.config import VerifyConfig
from tritonsmith.types import Candidate, Task
from tritonsmith.verify.process import scratch
from tritonsmith.verify.pool import Verifier

scratch.root()  # as on a GPU, whose turnstiles lie there
task = Task(id="double", level=1, source=open("task.py").read())
with Verifier(VerifyConfig(device="cpu", timeout=120, workers=2, judges=2)) as verifier:
    verifier.verify(task, Candidate(task="double", source=open("right.py").read()))  # until its zygotes are warm
    print("judging", flush=True)
    verifier.verify_many([(task, Candidate(task="double", source=open("kernel.py").read()))])
"""
HOLDER = """
import sys
from pathlib import Path
from tritonsmith.verify.process.turnstile import Turnstile

with getattr(Turnstile(Path(sys.argv[1])), sys.argv[2])():
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def panel() -> Iterator[Verifier]:
    """Two judge processes."""
    with Verifier(VerifyConfig(device="cpu", workers=2, judges=2)) as verifier:
        yield verifier


def _processes(verifier: Verifier) -> list[Apart]:
    bench = verifier._court.bench
    assert isinstance(bench, Panel)
    return list(bench.members)


def _jobs() -> list[Job]:
    sources = [
        double(),
        "no code",
        double(kernel=KERNEL.replace("2.0", "3.0")),
        double(kernel=KERNEL.replace("tl.store(", "tl.stare(")),
        double("        return torch.relu(x)\n"),
        None,
    ]
    tasks = [DOUBLE] * len(sources) + [SUITE["level1/relu"]]
    return [
        (task, Candidate(task=task.id, sample=number, source=source))
        for number, (task, source) in enumerate(zip(tasks, [*sources, kernel("level1/relu")], strict=True))
    ]


def _told(verdict: Verdict) -> tuple[object, ...]:
    """What must not depend on who judges."""
    return verdict.task, verdict.sample, verdict.stage, verdict.valid, verdict.compiled, verdict.correct, rules(verdict)


def _until(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


# Verdicts.


def test_processes_that_judge_on_the_cpu_stand_back_for_the_one_that_asks(panel: Verifier) -> None:
    panel.verify(DOUBLE, Candidate(task=DOUBLE.id, source=double()))
    own = os.getpriority(os.PRIO_PROCESS, 0)
    judging = {os.getpriority(os.PRIO_PROCESS, one._process.pid) for one in _processes(panel)}
    assert judging and min(judging) >= min(own + 10, 19)


def test_processes_reach_the_verdicts_that_threads_reach(panel: Verifier, verifier: Verifier) -> None:
    assert [_told(v) for v in panel.verify_many(_jobs())] == [_told(v) for v in verifier.verify_many(_jobs())]
    assert panel.judges == 2 and len(_processes(panel)) == 2 and verifier.judges == 1


def test_another_verifier_borrows_the_processes_with_settings_of_its_own(panel: Verifier) -> None:
    assert panel.verify(DOUBLE, Candidate(task="double", source=double())).correct  # there are processes now
    with Verifier(VerifyConfig(device="cpu", workers=2, judges=2, until="ast"), beside=panel) as other:
        assert other.verify(DOUBLE, Candidate(task="double", source=double())).stage == "ast"
        assert set(_processes(other)) == set(_processes(panel))
    assert all(one.alive() for one in _processes(panel))
    assert panel.verify(DOUBLE, Candidate(task="double", source=double())).correct


def test_a_judge_process_that_is_killed_loses_nothing(panel: Verifier) -> None:
    def kill() -> None:
        assert _until(lambda: any(one.busy for one in _processes(panel)))
        time.sleep(0.3)
        for one in _processes(panel):
            if one.busy:
                os.kill(one._process.pid, signal.SIGKILL)

    assert panel.verify(DOUBLE, Candidate(task="double", source=double())).correct  # its process has started
    before, killer = _processes(panel), threading.Thread(target=kill)
    killer.start()
    [verdict] = panel.verify_many([(DOUBLE, Candidate(task="double", sample=7, source=SLOW))])
    killer.join()
    assert verdict.correct and verdict.sample == 7, verdict
    assert len(set(before) & set(_processes(panel))) == len(before) - 1


def test_a_stream_that_is_left_ends_the_processes_that_are_busy_alone(panel: Verifier) -> None:
    before = set(_processes(panel))
    verdicts = panel.stream(
        [(DOUBLE, Candidate(task="double", sample=n, source=s)) for n, s in enumerate((None, HANGS))]
    )
    next(verdicts)
    assert _until(lambda: any(one.busy for one in _processes(panel)))
    start = time.monotonic()
    verdicts.close()
    assert time.monotonic() - start < 15
    assert sum(one.alive() for one in before) >= len(before) - 1


class Dying:
    """A bench that dies of each candidate, and a judge on it."""

    def __init__(self) -> None:
        self.members: list[object] = []
        self.judged, self.dead = 0, False

    def alive(self, patience: float = 0.0) -> bool:
        return not self.dead

    def renewed(self) -> "Dying":
        self.dead = False
        return self

    @contextlib.contextmanager
    def judge(self, task: Task) -> Iterator[Seat]:
        yield type(self)._Seat(self)

    def use(self) -> Use:
        return Use()

    def kill(self) -> None:
        self.dead = True

    def close(self, keep: object = ()) -> None:
        self.dead = True

    class _Seat:
        def __init__(self, bench: "Dying") -> None:
            self._bench = bench

        def judge(self, task: Task, candidate: Candidate, began: float | None = None) -> Verdict:
            self._bench.judged, self._bench.dead = self._bench.judged + 1, True
            raise ConnectionError("dead")


def test_a_candidate_that_ends_its_judges_twice_is_a_crash() -> None:
    bench = Dying()
    verdict = Court(VerifyConfig(device="cpu"), "cpu", bench).judge(DOUBLE, Candidate(task="double", source=double()))
    assert rules(verdict) == {"crash"} and bench.judged == 2


def test_a_candidate_is_not_blamed_where_others_are_stopped() -> None:
    class Stopped(Dying):
        """Streams beside it are left, three times; then it answers."""

        class _Seat(Dying._Seat):
            def judge(self, task: Task, candidate: Candidate, began: float | None = None) -> Verdict:
                self._bench.judged += 1
                if self._bench.judged > 3:
                    return Verdict(task=task.id, sample=0, device="cpu", target="sm_90", policy="strict", correct=True)
                court.stop(threading.Event())
                raise ConnectionError("ended")

    court = Court(VerifyConfig(device="cpu"), "cpu", Stopped())
    assert court.judge(DOUBLE, Candidate(task="double", source=double())).correct


def test_nothing_is_left_of_a_parent_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text(DOUBLE.source)
    (tmp_path / "right.py").write_text(double())
    (tmp_path / "kernel.py").write_text(HANGS)
    (tmp_path / "tmp").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", BATCH], cwd=tmp_path, env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "judging\n"
    time.sleep(1)
    assert len(_working_in(tmp_path)) > 3 and len(list((tmp_path / "tmp").glob("tritonsmith-*"))) == 2
    process.kill()
    process.wait()
    assert _until(lambda: not _working_in(tmp_path))
    assert not list((tmp_path / "tmp").glob("tritonsmith-*"))


def _working_in(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and Path(os.readlink(entry / "cwd")).is_relative_to(folder):
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
                found += [entry.name] if state != "Z" else []
    return found


@pytest.mark.gpu
def test_processes_share_a_gpu_and_one_that_is_killed_while_it_times_is_replaced() -> None:
    settings = VerifyConfig(device="cuda", workers=4, judges=2, isolation="pooled")
    names = ["level1/relu", "level1/softmax", "level1/sigmoid", "level1/tanh"]
    jobs = [
        (SUITE[name], Candidate(task=name, sample=turn, source=f"{kernel(name)}\n_TURN = {turn}\n"))
        for turn in range(4)
        for name in names
    ]
    with Verifier(settings) as verifier:
        first = verifier.verify_many(jobs[:8])
        before, stream = set(_processes(verifier)), verifier.stream(jobs[8:])
        rest = [next(stream)[1]]
        next(one for one in before if one.busy)._process.kill()
        rest += [verdict for _, verdict in stream]
        assert set(_processes(verifier)) != before
    assert len(first) == len(rest) == 8
    assert all(verdict.correct and verdict.timing is not None for verdict in first + rest), (first, rest)


# How many, and what each has.


def test_a_gpu_has_a_process_for_every_two_workers_and_a_cpu_none_of_its_own() -> None:
    assert choose_judges(None, "cuda", 16, 1) == 8 and choose_judges(None, "cuda", 2, 1) == 1
    assert choose_judges(None, "cpu", 16, 0) == 1 and choose_judges(None, "cuda", 16, 16) == 16
    assert choose_judges(3, "cpu", 2, 0) == 2


@pytest.mark.parametrize(("judges", "gpus"), [(4, 1), (4, 2), (5, 2), (2, 3), (2, 0)])
def test_seats_and_gpus_are_divided_without_rest(tmp_path: Path, judges: int, gpus: int) -> None:
    gates = [tmp_path / str(number) for number in range(gpus)]
    places = _places(judges, 9, gates)
    assert (
        sum(place.seats for place in places) == 9 and max(p.seats for p in places) - min(p.seats for p in places) <= 1
    )
    assert {gpu for place in places for gpu in place.gpus} == set(range(gpus))
    for gpu, folder in enumerate(gates):
        on = [place for place in places if gpu in place.gpus]
        assert len(on) <= on[0].judges and all(p.gates[p.gpus.index(gpu)] == folder for p in on)


# One GPU, several processes.


@contextlib.contextmanager
def _holder(folder: Path, how: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has the turnstile, or waits for it."""
    command = [sys.executable, "-c", HOLDER, str(folder), how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _held(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None and process.stdout.readline() == "held\n"


@pytest.mark.parametrize(("first", "second"), [("alone", "alone"), ("alone", "shared"), ("shared", "alone")])
def test_alone_excludes_other_processes_until_its_holder_is_killed(tmp_path: Path, first: str, second: str) -> None:
    begun = threading.Event()

    def wait() -> None:
        with getattr(Turnstile(tmp_path), second)():
            begun.set()

    with _holder(tmp_path, first) as process:
        _held(process)
        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        assert not begun.wait(0.1) and Turnstile(tmp_path).wanted
        process.kill()
        assert begun.wait(5)
    thread.join(5)
    assert not Turnstile(tmp_path).wanted


def test_processes_share(tmp_path: Path) -> None:
    with _holder(tmp_path, "shared") as process:
        _held(process)
        with Turnstile(tmp_path).shared():
            assert not Turnstile(tmp_path).wanted


def test_sharers_that_take_turns_do_not_keep_out_who_wants_it_alone(tmp_path: Path) -> None:
    ended = threading.Event()

    def share() -> None:
        while not ended.is_set():
            with Turnstile(tmp_path).shared():
                time.sleep(0.01)

    threads = [threading.Thread(target=share, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    with _holder(tmp_path, "alone") as process:
        _held(process)
    ended.set()
    for thread in threads:
        thread.join(5)
    assert not any(thread.is_alive() for thread in threads)


def test_those_who_want_it_alone_do_not_keep_out_sharers_for_good(tmp_path: Path) -> None:
    turns: list[str] = []

    def alone() -> None:
        for _ in range(20):
            with Turnstile(tmp_path).shared(), contextlib.suppress(ValueError):
                turns.append("shared")
            with Turnstile(tmp_path).alone():
                turns.append("alone")

    threads = [threading.Thread(target=alone, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert turns.count("shared") == turns.count("alone") == 80


def test_memory_is_divided_among_all_processes(tmp_path: Path) -> None:
    one, other = (Gpu(0, Part(tmp_path, judges=2), memory=1000) for _ in range(2))
    with one.room(700), other.room(200):
        pass


def test_what_needs_more_memory_than_is_left_waits_for_all_processes(tmp_path: Path) -> None:
    one, other = (Gpu(0, Part(tmp_path, judges=2), memory=1000) for _ in range(2))
    begun = threading.Event()

    def large() -> None:
        with other.room(500):
            begun.set()

    with one.room(400), other.room(400):
        thread = threading.Thread(target=large, daemon=True)
        thread.start()
        assert not begun.wait(0.1)
    assert begun.wait(5)
    thread.join(5)


def test_use_is_counted(tmp_path: Path) -> None:
    gpu = Gpu(0, Part(tmp_path), memory=1000)
    with gpu.alone():
        time.sleep(0.02)
    with gpu.shared():
        time.sleep(0.01)
    assert gpu.use.alone >= 0.02 and gpu.use.shared >= 0.01 and gpu.use.waited < 1


def test_references_are_built_apart_from_what_draws_beside_them() -> None:
    """Training's dropout draws from torch's one generator: references had other weights than candidates."""
    task = SUITE["level1/linear"]
    source = kernel(task.id).replace("self.linear", "self.fc")  # the reference's weights are not loaded: drawn alike
    over = threading.Event()

    def train() -> None:
        while not over.is_set():
            torch.nn.functional.dropout(torch.ones(64, 256), 0.05)

    training = threading.Thread(target=train)
    training.start()
    try:
        with Verifier(VerifyConfig(device="cpu", workers=1, timing=False), apart=True) as verifier:
            verdict = verifier.verify(task, Candidate(task=task.id, source=source))
    finally:
        over.set()
        training.join()
    assert verdict.correct, (verdict.findings, verdict.mismatch)
