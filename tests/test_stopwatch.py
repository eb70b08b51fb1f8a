"""The stopwatch, and a whole timing, on a device that is simulated: launches are queued on the host's clock and run on
the device's."""

import fcntl
import itertools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import torch
from torch import nn

from tritonsmith.types import Finding, Mismatch, Timing
from tritonsmith.verify import cuda_graph, measure, rechecked, timing
from tritonsmith.verify.conversation import Conversation
from tritonsmith.verify.process.gpu import Gpu, Part
from tritonsmith.verify.rechecked import Subject
from tritonsmith.verify.reference.truth import truth_of
from tritonsmith.verify.timing import BUFFER, CALIBRATED, SINGLE, Preset, Stopwatch

FLUSH = 35e-6
"""Seconds that overwriting the caches takes."""


class Machine:
    """A host and a device with a queue between them; seconds."""

    def __init__(self) -> None:
        self.now, self.idle = 0.0, 0.0
        self.slept: list[float] = []

    def run(self, queueing: float, seconds: float) -> None:
        """Queue work that runs so long, when the device has done what was queued before."""
        self.now += queueing
        self.idle = max(self.idle, self.now) + seconds

    def sleep(self, cycles: int) -> None:
        """A kernel that does nothing, on a clock of 2 GHz."""
        self.slept.append(cycles / 2.0e9)
        self.run(4e-6, cycles / 2.0e9)

    def synchronize(self) -> None:
        """Wait for the device."""
        self.now = max(self.now, self.idle)

    def event(self, enable_timing: bool) -> SimpleNamespace:
        """Notes when the device comes to it."""

        def record() -> None:
            self.run(1e-6, 1e-6)
            event.at = self.idle

        event = SimpleNamespace(at=0.0, record=record, query=lambda: event.at <= self.now)
        event.elapsed_time = lambda end: 1e3 * (end.at - event.at)
        return event


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """What `timing` takes for torch and for the clock."""
    made = Machine()
    cuda = SimpleNamespace(
        Event=made.event,
        _sleep=made.sleep,
        synchronize=made.synchronize,
        current_device=lambda: 0,
        get_device_properties=lambda _: SimpleNamespace(L2_cache_size=1),
    )
    buffer = SimpleNamespace(zero_=lambda: made.run(4e-6, FLUSH))
    fake = SimpleNamespace(cuda=cuda, empty=lambda *_, **__: buffer, int8=None)
    monkeypatch.setattr(timing, "torch", fake)
    monkeypatch.setattr(cuda_graph, "record", lambda *_: None)
    monkeypatch.setattr(measure, "_wait", made.synchronize)
    for module in (timing, measure):
        monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: made.now))
    return made


def _block(machine: Machine, queueing: float, seconds: float, repeats: int, hiccup: float = 0.0) -> list[float]:
    """Milliseconds in a block after one that warms up; once in the middle of it the host does nothing for a while."""
    count, ended = 0, 17 * repeats // 2

    def call() -> None:
        nonlocal count
        count += 1
        machine.run(queueing + (hiccup if count == ended else 0.0), seconds)

    watch = Stopwatch()
    watch.warm([call] * 3, 10)
    watch.block([call] * 3, 17, repeats)
    count = 0
    return watch.block([call] * 3, 17, repeats)


@pytest.mark.parametrize(("queueing", "seconds"), [(70e-6, 5e-6), (10e-6, 5e-6), (300e-6, 250e-6), (20e-6, 28e-6)])
def test_launches_are_hidden_however_short_the_kernel(machine: Machine, queueing: float, seconds: float) -> None:
    repeats = timing.calls_a_trial(1e3 * seconds)
    expected = 1e3 * (seconds + 1e-6 / repeats)
    assert _block(machine, queueing, seconds, repeats) == pytest.approx([expected] * 17, rel=1e-6)


def test_a_hiccup_of_the_host_does_not_show(machine: Machine) -> None:
    assert max(_block(machine, 70e-6, 5e-6, 12, hiccup=0.9 * BUFFER)) < 1.05 * 5.1e-3


def test_a_trial_in_which_the_host_was_late_is_made_again(machine: Machine) -> None:
    assert max(_block(machine, 70e-6, 5e-6, 12, hiccup=20 * BUFFER)) < 1.05 * 5.1e-3


def test_a_block_takes_little_longer_than_the_host_does(machine: Machine) -> None:
    before: list[float] = []
    watch, call = Stopwatch(), lambda: machine.run(70e-6, 5e-6)
    watch.warm([call] * 3, 10)
    for _ in range(3):
        before.append(machine.now)
        watch.block([call] * 3, 17, 12)
    host = 17 * 15 * 70e-6
    assert machine.now - before[-1] < 1.25 * host


def test_the_device_is_not_kept_busy_when_it_is_anyway(machine: Machine) -> None:
    watch, call = Stopwatch(), lambda: machine.run(70e-6, 75e-6)
    watch.warm([call] * 3, 10)
    watch.block([call] * 3, 17)
    machine.slept.clear()
    times = watch.block([call] * 3, 17)
    assert times == pytest.approx([0.076] * 17) and sum(machine.slept) < BUFFER + 10 * 20e-6


def test_a_host_that_was_slow_beside_others_does_not_prolong_the_first_block(machine: Machine) -> None:
    watch, queueing = Stopwatch(), 2e-3
    call = lambda: machine.run(queueing, 5e-6)  # noqa: E731
    watch.warm([call] * 3, 10)
    queueing, began = 50e-6, machine.now
    watch.block([call] * 3, 17, 12)
    assert machine.now - began < 1.4 * 17 * 15 * queueing


def test_a_device_that_others_kept_busy_is_not_believed_to_be(machine: Machine) -> None:
    watch, taking = Stopwatch(), (50e-6, 70e-6)
    call = lambda: machine.run(*taking)  # noqa: E731
    watch.warm([call] * 3, 10)
    watch.block([call] * 3, 17)
    taking = (50e-6, 5e-6)
    assert watch.block([call] * 3, 17) == pytest.approx([0.006] * 17)


def test_a_long_kernel_waits_for_the_first_launch_alone(machine: Machine) -> None:
    _block(machine, 30e-6, 200e-6, 1)
    machine.slept.clear()
    assert _block(machine, 30e-6, 200e-6, 1)[0] == pytest.approx(0.201, rel=1e-3)
    assert machine.slept[-1] == BUFFER


def test_no_trial_keeps_the_device_busy_for_longer_than_the_clock_check_allows(machine: Machine) -> None:
    _block(machine, 5e-3, 1e-3, 1)
    assert max(machine.slept) <= timing.MOST_SLEEP == 4 * BUFFER


class Doubling(nn.Module):
    """A reference whose call takes the device 40 us."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self._machine = machine

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Twice the argument."""
        self._machine.run(10e-6, 40e-6)
        return 2 * x


class Runner:
    """A candidate's process, twice as fast; notes what is asked and how the GPU is had meanwhile."""

    def __init__(self, machine: Machine, gpu: Gpu, wrong: bool, records: bool, keeps: str) -> None:
        self._machine, self._gpu, self._wrong, self._records, self._keeps = machine, gpu, wrong, records, keeps
        self._held: list[list[torch.Tensor]] = []
        self.asked: list[tuple[str, str]] = []
        self.glances: list[bool] = []
        """Of each tuning, whether calls are only glanced at."""
        self.trials = self.recorded = 0
        self.colds = 0
        self.marks: dict[int, torch.Tensor] = {}
        self.remarks = True
        self.wrong_as_recorded, self.makes, self.made = False, True, 0

    def ask(self, mode: str, header: dict[str, object], tree: object = None, room: int = 0) -> tuple[object, object]:
        """As `Conversation.ask`."""
        self.asked.append((str(header["do"]), _how(self._gpu)))
        if header["do"] == "tune":
            self.glances.append(bool(header.get("glance")))
        actions: dict[str, Callable[[], tuple[object, object]]] = {
            "tune": lambda: ({"milliseconds": self._tune(cast(int, header["warmups"]))}, None),
            "record": lambda: ({"milliseconds": 0.020 if self._records else None}, None),
            "make": lambda: ({"made": self._make(cast(int, header["trials"]))}, None),
            "renew": lambda: self._renew(header, cast(list[list[torch.Tensor]], tree)),
            "time": lambda: ({"milliseconds": self._time(header)}, None),
            "wall": lambda: (self._watch.back_to_back(self._calls(), cast(int, header["calls"])), None),
            "timed": lambda: ({}, self._factor() * self._held[cast(int, header["set"])][0]),
            "hold": lambda: (self._hold(cast(list[object], tree), header.get("set")), None),
        }
        return actions.get(str(header["do"]), lambda: ({}, None))()

    def _make(self, trials: int) -> bool:
        self.made = trials
        return self.makes

    def _tune(self, warmups: int) -> float:
        self._watch = Stopwatch()
        return self._watch.warm(self._calls(), warmups)

    def _time(self, header: dict[str, object]) -> list[float]:
        trials, repeats = cast(int, header["trials"]), cast(int, header["repeats"])
        self.trials += trials if header["hide"] else 0
        self.recorded += trials if header["recorded"] else 0
        assert trials == self.made or not header["recorded"]
        return self._watch.block(self._calls(), trials, repeats, bool(header["hide"]))

    def _factor(self, recorded: bool = False) -> int:
        return 3 if self._wrong or (recorded and self.wrong_as_recorded) else 2

    def _renew(self, header: dict[str, object], contents: list[list[torch.Tensor]]) -> tuple[object, object]:
        before, after = cast(list[int], header["times"])
        told, outputs = [], []
        for number, place in cast(list[list[int]], header["rounds"]):
            first, self._held[number] = self._cold(number, before), contents[place]
            told.append([first, self._cold(number, after)])
            outputs.append(self._factor(recorded=True) * self._held[number][0])
        return {"milliseconds": told}, outputs

    def _cold(self, number: int, count: int) -> list[float]:
        times = []
        for _ in range(count):
            self.colds += 1
            known = torch.equal(self.marks[number], self._held[number][0]) and _how(self._gpu) in self._keeps
            times.append(0.004 if known else 0.043)
            if self.remarks:
                self.marks[number] = self._held[number][0]
        return times

    def _hold(self, tree: list[object], number: object) -> None:
        if number is None:
            self._held = [*cast(list[list[torch.Tensor]], tree)]  # the list is the judge's
            self.marks = {place: inputs[0] for place, inputs in enumerate(self._held)}
        else:
            self._held[cast(int, number)] = cast(list[torch.Tensor], tree)

    def _calls(self) -> list[Callable[[], None]]:
        return [lambda: self._machine.run(50e-6, 20e-6)] * 3


def _how(gpu: Gpu) -> str:
    """Whether somebody has the GPU alone now, or shares it."""
    with (gpu.part.gates / "turns" / "use").open("ab") as file:
        for kind, name in ((fcntl.LOCK_EX, "free"), (fcntl.LOCK_SH, "shared")):
            try:
                fcntl.flock(file, kind | fcntl.LOCK_NB)
                return name
            except BlockingIOError:
                continue
    return "alone"


def _measured(
    machine: Machine,
    folder: Path,
    how: Preset,
    wrong: bool = False,
    records: bool = True,
    remembers: bool = False,
    keeps: str = "",
    wrong_as_recorded: bool = False,
    remarks: bool = True,
    makes: bool = True,
    ragged: bool = False,
) -> tuple[object, Runner]:
    gpu = Gpu(0, Part(folder), memory=1)
    with gpu.shared():
        pass
    runner = Runner(machine, gpu, wrong, records, keeps)
    runner.wrong_as_recorded, runner.remarks, runner.makes = wrong_as_recorded, remarks, makes
    talk = cast(Conversation, runner)
    model = Doubling(machine)
    sizes = itertools.count(8, int(ragged))

    def draw(like: list[object] | None) -> list[object]:
        return [torch.randn(next(sizes) if like is None else len(cast(torch.Tensor, like[0])))]

    subject = Subject(
        talk, gpu.shared, lambda: model, draw, lambda _: None, truth_of, sets=3, remembers=remembers
    )  # fmt: skip
    return measure.measure(subject, gpu, how), runner


def test_only_what_is_measured_is_done_alone(machine: Machine, tmp_path: Path) -> None:
    found, runner = _measured(machine, tmp_path, CALIBRATED)
    assert isinstance(found, Timing) and found.speedup.median == pytest.approx(2.0, rel=0.05)
    ways = {what: {how for one, how in runner.asked if one == what} for what, _ in runner.asked}
    assert ways == {
        "release": {"shared"},
        "hold": {"shared"},
        "tune": {"free", "shared"},  # compiling and autotuning first, then warming up
        "time": {"alone", "shared"},  # at last the call whose output is compared
        "wall": {"alone"},
        "timed": {"shared"},
    }
    assert [how for what, how in runner.asked if what == "time"].count("shared") == 1


def test_every_side_has_all_of_its_trials(machine: Machine, tmp_path: Path) -> None:
    _, runner = _measured(machine, tmp_path, CALIBRATED)
    assert runner.trials >= CALIBRATED.trials


def test_what_was_timed_is_compared(machine: Machine, tmp_path: Path) -> None:
    found, _ = _measured(machine, tmp_path, CALIBRATED, wrong=True)
    assert isinstance(found, Mismatch)


def test_a_single_run_is_a_timing_too(machine: Machine, tmp_path: Path) -> None:
    found, runner = _measured(machine, tmp_path, SINGLE)
    assert isinstance(found, Timing) and "wall" not in dict(runner.asked)


class Recorded:
    """Trials as a graph makes them: the host only begins all of them."""

    def __init__(self, machine: Machine) -> None:
        self._machine, self._repeats = machine, 1

    @staticmethod
    def estimate() -> float:
        """Milliseconds of a call."""
        return 0.040

    def make(self, repeats: int, trials: int) -> bool:
        """Make so many trials of so many calls."""
        self._repeats, self._trials = repeats, trials
        return True

    def block(self, trials: int) -> list[float]:
        """Milliseconds of a call in each of so many trials."""
        assert trials == self._trials
        self._machine.run(20e-6, trials * (FLUSH + self._repeats * 40e-6))
        self._machine.synchronize()
        return [0.040] * trials


@pytest.fixture
def recording(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A device that records the reference."""
    monkeypatch.setattr(cuda_graph, "record", lambda *_: Recorded(machine))
    return machine


def test_what_was_recorded_is_timed_and_its_answer_compared(recording: Machine, tmp_path: Path) -> None:
    found, runner = _measured(recording, tmp_path, CALIBRATED)
    assert isinstance(found, Timing) and found.recorded
    in_a_turn = timing.trials_a_turn(CALIBRATED, 0.060, timing.calls_in_all(2, 3), recorded=True)
    assert runner.recorded == runner.trials >= CALIBRATED.blocks * in_a_turn
    ways = {what: {how for one, how in runner.asked if one == what} for what, _ in runner.asked}
    assert ways["record"] == ways["renew"] == {"shared"} and ways["time"] == {"alone"}
    # Four calls in each of three sets, and in one of them four more; then one in each, whose answers are compared.
    assert [what for what, _ in runner.asked].count("renew") == 2 and runner.colds == 4 * 4 + 3


def test_who_answers_wrongly_as_recorded_is_timed_from_a_stream(recording: Machine, tmp_path: Path) -> None:
    """A kernel that is told the number of the call is right, and its recorded call is not."""
    found, runner = _measured(recording, tmp_path, CALIBRATED, wrong_as_recorded=True)
    assert isinstance(found, Timing) and not found.recorded
    assert [what for what, _ in runner.asked].count("record") == 1
    # A glance is enough for what is recorded; who is not is warmed up like any other.
    assert runner.glances == [False, True, False, True, False]
    found, _ = _measured(recording, tmp_path, CALIBRATED, wrong=True)
    assert isinstance(found, Mismatch)


@pytest.mark.parametrize("remarks", [True, False])
def test_what_takes_longer_on_other_contents_than_on_those_that_were_timed_keeps_answers(
    recording: Machine, tmp_path: Path, remarks: bool
) -> None:
    found, _ = _measured(recording, tmp_path, CALIBRATED, keeps="shared alone", remarks=remarks)
    assert isinstance(found, Finding) and found.rule == "cache"


def test_what_others_kept_waiting_is_asked_again_alone(recording: Machine, tmp_path: Path) -> None:
    found, runner = _measured(recording, tmp_path, CALIBRATED, keeps="shared")
    assert isinstance(found, Timing) and ("renew", "alone") in runner.asked


@pytest.mark.parametrize("most", [0, 1 << 28])
def test_large_contents_go_to_a_runner_one_after_the_other(
    recording: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(rechecked, "_AT_ONCE", most)
    found, runner = _measured(recording, tmp_path, CALIBRATED)
    assert isinstance(found, Timing) and found.recorded
    assert [what for what, _ in runner.asked].count("renew") == (2 if most else 4 + 3)
    assert runner.colds == 4 * 4 + 3


@pytest.mark.parametrize("records", [True, False])
def test_a_task_that_draws_sizes_is_timed_on_one_of_them(recording: Machine, tmp_path: Path, records: bool) -> None:
    """Contents of another size do not go into the storage of what was timed."""
    found, runner = _measured(recording, tmp_path, CALIBRATED, records=records, ragged=True)
    assert isinstance(found, Timing) and found.recorded == records
    assert {len(inputs[0]) for inputs in runner._held} == {8}


def test_a_reference_is_recorded_where_its_candidate_cannot_be(recording: Machine, tmp_path: Path) -> None:
    found, runner = _measured(recording, tmp_path, CALIBRATED, records=False)
    assert (
        isinstance(found, Timing) and not found.recorded and runner.recorded == 0 and runner.trials >= CALIBRATED.trials
    )
    assert "renew" not in dict(runner.asked) and found.reference_ms == pytest.approx(0.040)


def test_a_candidate_whose_trials_are_not_made_is_timed_by_launches(recording: Machine, tmp_path: Path) -> None:
    found, runner = _measured(recording, tmp_path, CALIBRATED, makes=False)
    assert isinstance(found, Timing) and runner.recorded == 0 and runner.trials >= CALIBRATED.trials


def test_a_reference_whose_trials_cannot_be_made_again_is_timed_by_launches(
    recording: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, made = Recorded.make, [False, True]
    monkeypatch.setattr(Recorded, "make", lambda self, repeats, trials: first(self, repeats, trials) and made.pop())
    found, _ = _measured(recording, tmp_path, CALIBRATED, makes=False)
    assert isinstance(found, Timing) and not made and found.reference_ms == pytest.approx(0.040, rel=0.05)


def test_nothing_is_recorded_of_a_reference_that_remembers(recording: Machine, tmp_path: Path) -> None:
    _, runner = _measured(recording, tmp_path, CALIBRATED, remembers=True)
    assert "record" not in dict(runner.asked)


def test_a_single_run_is_not_recorded(recording: Machine, tmp_path: Path) -> None:
    _, runner = _measured(recording, tmp_path, SINGLE)
    assert "record" not in dict(runner.asked)
