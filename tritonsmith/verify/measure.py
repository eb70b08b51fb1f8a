"""The timing stage on a GPU: reference and candidate take turns, and what was timed is checked.

The reference runs in the judge's process, the candidate in its own; each times its own device work. The judge's clock
stands behind the candidate's: a runner that claims much less than its turn took is found out (see `_CLOCK_SLACK`), and
the output of a timed call, on values that were never shown before, is compared with the truth. Short calls are recorded
where they can be; the outputs compared are then those of the recorded work, and what takes longer on new contents than
on the same once more keeps answers.
"""

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import nn

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.tasks.format import draws, undrawn
from tritonsmith.types import Finding, Mismatch, Timing
from tritonsmith.verify import cuda_graph, rechecked, timing
from tritonsmith.verify.conversation import Conversation
from tritonsmith.verify.process.gpu import Gpu
from tritonsmith.verify.rechecked import Subject, number_of

_CALLS, _WALL_SECONDS = 20, 0.001
"""Calls whose time on the judge's clock is taken, at most, and the device time they may have."""
_QUESTIONS = 2
"""Of no calls at all, the quickest of which says what a question takes."""
_PROMPT, _SURE, _AGAIN_MS = 3, 15, 20.0
"""Turns that a clock must be right in, after how many of them it is called a lie if it was not, and the device's time
that the reference may have in one that is added and not recorded."""
_CLOCK_SLACK = 0.5e-3
"""Seconds a trial may take beyond twice the time claimed, its calls that are not timed, and what the reference's trials
take besides: messages, waking up. A forged time below this is not found out here, only by the process's integrity
check."""


def preset(settings: VerifyConfig, extensions: ExtensionsConfig) -> timing.Preset:
    """Extension 4 is the switch; with it on, the settings may ask for the longer preset."""
    if not extensions.calibrated:
        return timing.SINGLE
    return timing.LONG if settings.preset == "long" else timing.CALIBRATED


def measure(subject: Subject, gpu: Gpu, how: timing.Preset) -> Timing | Finding | Mismatch:
    """Time a candidate that has been found correct; raises RunnerFailed where it does not answer."""
    model, sets = _held(subject)
    # Compilers and autotuners take seconds: neither those who share the GPU nor those who want it alone wait for them.
    subject.talk.ask("cuda", {"do": "tune", "warmups": 1})
    sides = _Sides(subject, how, model, sets)
    taken = _taken(subject, gpu, how, sides, model, sets)
    reference, turns = sides.reference, sides.turns
    compiled = subject.compiled(model, sets, reference.recorded) if subject.compiled is not None else None
    if turns.doubt is not None:
        return turns.doubt
    checked = taken.checked or _checked(subject, gpu, sides, model, sets)
    keeps = checked.keeps or rechecked.kept(subject, gpu, checked.looks)
    if turns.recorded and checked.mismatch is not None:
        # It may go by what the host has counted, or which of two buffers it takes in turn. Who keeps an answer in the
        # recorded call comes here, too, and gains nothing by it.
        return measure(replace(subject, replayable=False), gpu, how)
    if (wrong := keeps or checked.mismatch) is not None:
        return wrong
    found = timing.compare(taken.theirs, taken.ours, how, turns.recorded).model_copy(update={"compiled_ms": compiled})
    if taken.walls is not None:
        theirs, ours = taken.walls
        found = found.model_copy(update={"reference_wall_ms": 1e3 * theirs, "candidate_wall_ms": 1e3 * ours})
    return found


@dataclass
class _Checked:
    """What was found out of a candidate after it was timed."""

    keeps: Finding | None
    """Whether recorded calls keep answers,"""
    looks: rechecked.Seen
    """or first looks that make one doubt it, and are to be followed,"""
    mismatch: Mismatch | None
    """and what is wrong with an answer on new contents."""


@dataclass
class _Taken:
    """What was measured."""

    theirs: list[list[float]]
    ours: list[list[float]]
    """Milliseconds, turn by turn."""
    walls: tuple[float, float] | None
    """Seconds of a call of either as a user sees it."""
    checked: _Checked | None
    """What was asked at once, if it was."""


def _taken(
    subject: Subject, gpu: Gpu, how: timing.Preset, sides: "_Sides", model: nn.Module, sets: list[list[object]]
) -> _Taken:
    """Take turns, alone on the GPU.

    What is short is recorded while those who share the GPU come to their ends, and asked about as soon as they may come
    back: hardly anybody is there then whose turns it would wait for.
    """
    inside = replace(subject, beside=nullcontext)
    if not sides.brief:
        sides.prepare(subject)
    with gpu.alone(partial(sides.prepare, inside) if sides.brief else None) as share:
        # What is in here is measured, or decides whether more is: the device's time, both sides in turns; turns that
        # are added where the host was busy, which must be like the others; calls as a user sees them.
        reference, turns, both = sides.reference, sides.turns, sides.both
        theirs, ours = timing.interleave(
            reference.block, turns.block, how, both, lambda: not gpu.wanted, turns.in_all, turns.recorded
        )
        theirs, ours = _borne_out(reference, turns, how, theirs, ours)
        calls = max(3, min(_CALLS, int(1e3 * _WALL_SECONDS / both))) if both else 3
        walls = (reference.wall(calls), turns.wall(calls)) if how.trials > 1 else None
        checked = None
        few = turns.recorded and turns.doubt is None and rechecked.few(subject, sets)
        if few and subject.compiled is None:
            share()
            checked = _checked(inside, gpu, sides, model, sets)
    return _Taken(theirs, ours, walls, checked)


def _checked(subject: Subject, gpu: Gpu, sides: "_Sides", model: nn.Module, sets: list[list[object]]) -> _Checked:
    """Ask for what is to be known of a candidate that was timed; the sets are let go of."""
    recorded = sides.turns.recorded
    looks, keeps = rechecked.looked(subject, sets) if recorded else [], None
    if not rechecked.few(subject, sets):  # what is looked at again holds on to its set
        looks, keeps = [], rechecked.kept(subject, gpu, looks)
    with subject.beside():
        others = subject.draw(sets[0])
    # The truth needs the memory, and after it the runner does.
    sides.reference.clear()
    sets.clear()
    if recorded:
        return _Checked(keeps, looks, rechecked.replayed(subject, model, others))
    return _Checked(keeps, looks, rechecked.answered(subject, gpu, model, others))


def _borne_out(
    reference: "Reference", turns: "Turns", how: timing.Preset, theirs: list[list[float]], ours: list[list[float]]
) -> tuple[list[list[float]], list[list[float]]]:
    """The turns of which the judge's clock bears the runner's out; others are taken in place of those that it does not.

    A host that is busy with other candidates delays some turns, or most; a clock that lies by more than that check
    lets pass gains nothing in the turns that it lies in.
    """
    wanted = min(how.blocks, len(ours))
    while turns.doubt is None and sum(turns.prompt) < wanted and len(ours) < _SURE:
        trials = len(ours[-1])
        if not reference.recorded:
            trials = max(1, min(trials, int(_AGAIN_MS / (reference.repeats * theirs[-1][-1]))))
        for side, into in ((reference, theirs), (turns, ours))[:: 1 if len(ours) % 2 == 0 else -1]:
            into.append(side.block(trials))
    if turns.doubt is None and sum(turns.prompt) < min(_PROMPT, wanted):
        turns.doubt = Finding(rule="clock", message=turns.last)
    if turns.doubt is not None:
        return theirs, ours
    pairs = [pair for pair, prompt in zip(zip(theirs, ours, strict=True), turns.prompt, strict=True) if prompt]
    return [one for one, _ in pairs], [other for _, other in pairs]


def _held(subject: Subject) -> tuple[nn.Module, list[list[object]]]:
    """The reference and the input sets, which the candidate is given too."""
    with subject.beside():
        model, sets = subject.model(), [subject.draw(None)]
    for _ in range(1, subject.sets):
        with subject.beside():
            sets.append(subject.draw(sets[0]))
    with subject.beside():
        subject.build(model)
        subject.talk.ask("cuda", {"do": "release"})
    with subject.beside():
        subject.talk.ask("cuda", {"do": "hold"}, sets)
    return model, sets


class _Sides:
    """Both sides, warmed up or glanced at, and recorded where they can be."""

    def __init__(self, subject: Subject, how: timing.Preset, model: nn.Module, sets: list[list[object]]) -> None:
        self._how, self._sets = how, len(sets)
        self._glance = how.hide and subject.recordable and not subject.remembers
        self._quiet = undrawn if draws(model) else nullcontext  # nobody may draw while others are recorded
        # Calls by the dozen would show in another one's times; in short turns, for who measures waits for their end.
        with subject.beside(), self._quiet():
            self.reference = Reference(model, sets, how)
            self._theirs = self.reference.glance() if self._glance else self.reference.warm()
        self._ours = _tuned(subject, how, self._glance)
        self.brief = self._glance and self.both <= timing.RECORDED_MS
        """Whether calls are to be recorded."""
        self.turns: Turns

    @property
    def both(self) -> float:
        """Milliseconds of a call of both, roughly."""
        return self._theirs + self._ours

    def prepare(self, subject: Subject) -> None:
        """Record both where they can be, or warm them up."""
        reference, how, recorded = self.reference, self._how, False
        if self.brief:
            self._theirs, self._ours, recorded = _recorded(subject, reference, how, self._theirs, self._ours)
        if self._glance and not reference.recorded:
            with subject.beside(), self._quiet():
                self._theirs = reference.warm()
            self._ours = _tuned(subject, how, False)
        if not reference.recorded:
            reference.repeats = timing.calls_a_trial(min(self._theirs, self._ours)) if how.hide else 1
        in_all = timing.calls_in_all(reference.repeats, self._sets)
        self.turns = Turns(subject.talk, reference, how, reference.repeats, in_all, recorded)


def _tuned(subject: Subject, how: timing.Preset, glance: bool) -> float:
    """Milliseconds of a call of the candidate's, roughly, which it is warmed up by, or that a `glance` shows."""
    with subject.beside():
        reply, _ = subject.talk.ask("cuda", {"do": "tune", "warmups": how.warmups, "glance": glance})
    return number_of(reply.get("milliseconds"))


def _recorded(
    subject: Subject, reference: "Reference", how: timing.Preset, theirs: float, ours: float
) -> tuple[float, float, bool]:
    """Record both sides' calls and make trials of them. Gives what a call takes, roughly, and whether the candidate's
    are recorded.

    A reference is recorded where a candidate cannot be: launches from a stream take longer, and whoever avoids to be
    recorded must not gain by it. A candidate is not where its reference cannot be, for the same reason.
    """
    with subject.beside():
        known = reference.record()
    if known is None:
        return theirs, ours, False
    ask, told = subject.talk.ask, 0.0
    if subject.replayable:
        with subject.beside():
            told = number_of(ask("cuda", {"do": "record"})[0].get("milliseconds"))
    if not told:
        ours = _tuned(subject, how, False)
    repeats = timing.calls_a_trial(min(known, told or ours), recorded=True)
    in_all = timing.calls_in_all(repeats, subject.sets)
    trials = timing.trials_a_turn(how, known + (told or ours), in_all, recorded=bool(told))
    with subject.beside():
        possible = reference.make(repeats, trials)
        header: dict[str, object] = {"do": "make", "repeats": repeats, "trials": trials}
        made = possible and bool(told) and ask("cuda", header)[0].get("made") is True
        if possible and told and not made:  # a turn of launches has more trials
            possible = reference.make(repeats, timing.trials_a_turn(how, known + told, in_all, recorded=False))
    if not possible:
        reference.forget()
        return theirs, ours, False
    if told and not made:
        _tuned(subject, how, False)
    return known, told or ours, made


class Reference:
    """The reference's side of the turns."""

    def __init__(self, model: nn.Module, sets: list[list[object]], how: timing.Preset) -> None:
        self._outputs: list[object] = [None] * len(sets)
        self._calls = [self._call(model, inputs, place) for place, inputs in enumerate(sets)]
        self._stopwatch, self._how = timing.Stopwatch(_wait), how
        self.repeats = 1
        self._recording: cuda_graph.Recording | None = None
        self.host = 0.0
        """Seconds a block took on the judge's clock beyond the calls' own time, the least seen."""

    def _call(self, model: nn.Module, inputs: list[object], place: int) -> Callable[[], object]:
        def call() -> None:
            with torch.no_grad():
                self._outputs[place] = model(*inputs)

        return call

    def warm(self) -> float:
        """Call it as often as that takes; gives the milliseconds of a call, roughly."""
        return self._stopwatch.warm(self._calls, self._how.warmups)

    def glance(self) -> float:
        """The same where calls are to be recorded, which need no more than to have been made."""
        return self._stopwatch.glance(self._calls)

    @property
    def recorded(self) -> bool:
        """Whether its trials are recorded ones."""
        return self._recording is not None

    def record(self) -> float | None:
        """Record the calls; gives the milliseconds of one, roughly, or None where that is not possible."""
        self._recording = self._stopwatch.record(self._calls)
        estimate = self._recording.estimate() if self._recording is not None else None
        if estimate is None:
            self.forget()
        return estimate

    def make(self, repeats: int, trials: int) -> bool:
        """Make so many trials of so many recorded calls; whether that is possible."""
        self.repeats = repeats
        return self._recording is not None and self._recording.make(repeats, trials)

    def forget(self) -> None:
        """Take trials that are not recorded from here on."""
        self._recording = None

    def block(self, trials: int) -> list[float]:
        """Milliseconds of so many trials."""
        start = time.perf_counter()
        if self._recording is not None:
            times = self._recording.block(trials)
        else:
            times = self._stopwatch.block(self._calls, trials, self.repeats, self._how.hide)
        beyond = time.perf_counter() - start - 1e-3 * self.repeats * sum(times)
        self.host = beyond if self.host == 0.0 else min(self.host, beyond)
        return times

    def wall(self, calls: int) -> float:
        """Seconds a call takes as a user sees it."""
        start = time.perf_counter()
        self._stopwatch.back_to_back(self._calls, calls)
        return (time.perf_counter() - start) / calls

    def clear(self) -> None:
        """Let the inputs and outputs go; there are no further turns."""
        self.forget()
        self._calls.clear()
        self._outputs.clear()


def _wait() -> None:
    torch.cuda.current_stream().synchronize()


class Turns:
    """The candidate's side of the turns, as the judge sees it."""

    def __init__(
        self,
        talk: Conversation,
        reference: Reference,
        how: timing.Preset,
        repeats: int,
        in_all: int,
        recorded: bool = False,
    ) -> None:
        """`repeats`: calls of a trial that are timed, of so many `in_all`."""
        self._talk, self._reference, self._how = talk, reference, how
        self._repeats, self.in_all, self.recorded = repeats, in_all, recorded
        self.prompt: list[bool] = []
        """Of each turn, whether it took no longer than the runner's times allow."""
        self.last = ""
        """Of the last turn that took longer, what was said and what it took."""
        self.doubt: Finding | None = None
        """What is wrong with the times that the runner gave."""

    def block(self, trials: int) -> list[float]:
        """The milliseconds that the runner claims for so many trials."""
        start = time.perf_counter()
        header = {"do": "time", "trials": trials, "repeats": self._repeats, "hide": self._how.hide}
        header["recorded"] = self.recorded
        reply, _ = self._talk.ask("cuda", header)
        taken = time.perf_counter() - start
        times = reply.get("milliseconds")
        self.prompt.append(False)
        if not isinstance(times, list) or len(times) != trials or not all(map(number_of, times)):
            self.doubt = Finding(rule="protocol", message="the runner gave no times")
            return [1.0] * trials
        claimed, untimed = (1e-3 * calls * sum(times) for calls in (self._repeats, self.in_all - self._repeats))
        # Each trial may wait for the host as long as it runs, or the buffer; see `timing.Stopwatch`.
        hidden = taken - 2 * claimed - untimed - self._reference.host - (4 * trials + 1) * self._allowance()
        self.prompt[-1] = claimed <= taken and hidden <= _CLOCK_SLACK * trials
        if not self.prompt[-1]:
            self.last = f"{trials} trials were said to take {1e3 * claimed:.2f} ms and took {1e3 * taken:.1f} ms"
        return times

    def _allowance(self) -> float:
        """Seconds a trial of a host-bound candidate may add."""
        if self.recorded:  # the host has nothing to do but to begin it
            return 0.1e-3
        return timing.BUFFER if self._how.hide else 0.2e-3

    def wall(self, calls: int) -> float:
        """Seconds a call takes by the judge's clock, without what the question takes."""
        asking = min(self._asked(0) for _ in range(_QUESTIONS))
        return max(self._asked(calls) - asking, 0.0) / calls

    def _asked(self, calls: int) -> float:
        start = time.perf_counter()
        self._talk.ask("cuda", {"do": "wall", "calls": calls})
        return time.perf_counter() - start
