"""What is asked of a candidate once it was timed: its answers on new contents, and whether it kept old ones.

Does not time it for the record: see `measure`.
"""

import secrets
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from tritonsmith.tasks.trees import held, leaves, map_tensors, wide
from tritonsmith.types import Finding, Mismatch
from tritonsmith.verify import numerics
from tritonsmith.verify.conversation import SPARE_BYTES, Conversation
from tritonsmith.verify.dynamic import observe
from tritonsmith.verify.process.gpu import Gpu

_LOOKS, _LOOKS_ALONE = 3, 7
"""Calls on new contents that are held against calls on the same, beside others, at most, and alone."""
_LONGER, _LONGER_MS = 1.5, 0.005
"""How much longer one of the former takes, at least, where answers are kept: a factor, and milliseconds."""
_AT_ONCE = 1 << 29
"""Bytes of contents up to which several sets are given new ones by one question; each takes milliseconds."""


@dataclass(frozen=True)
class Subject:
    """What is timed, and how to get at it."""

    talk: Conversation
    beside: Callable[[], AbstractContextManager[None]]
    """Use of the GPU beside other candidates."""
    model: Callable[[], nn.Module]
    """The reference."""
    draw: Callable[[list[object] | None], list[object]]
    """New inputs, for the storage of others where these are given: a task may draw sizes, too."""
    build: Callable[[nn.Module], None]
    """Build the candidate with the reference's weights."""
    truth: Callable[[nn.Module, list[object]], numerics.Truth]
    sets: int
    """Input sets to rotate among."""
    compiled: Callable[[nn.Module, list[list[object]], bool], float | None] | None = None
    """Milliseconds of the reference under `torch.compile`, where they are wanted; recorded if the others were."""
    remembers: bool = False
    """Whether the reference's answer depends on the calls before."""
    recordable: bool = True
    """Whether nothing in the reference waits for a value, so that its calls may be recorded."""
    replayable: bool = True
    """Whether the candidate's calls may be recorded, as far as is known."""


def answered(subject: Subject, gpu: Gpu, model: nn.Module, inputs: list[object]) -> Mismatch | None:
    """What is wrong with the output of one more timed call, with `inputs` in place of one set."""
    talk, number, trials = subject.talk, secrets.randbelow(subject.sets), subject.sets
    with subject.beside():
        if subject.remembers:  # that call is then the first of a model that has seen nothing
            number, trials, model = 0, 1, subject.model()
            subject.build(model)
        truth = subject.truth(model, inputs)
        gpu.tidy()
        talk.ask("cuda", {"do": "hold", "set": number}, inputs)
        talk.ask("cuda", {"do": "time", "trials": trials, "repeats": 1, "hide": False, "recorded": False})
        return _compared(subject, truth, number)


def replayed(subject: Subject, model: nn.Module, inputs: list[object]) -> Mismatch | None:
    """What is wrong with the outputs of what was recorded, when all sets hold `inputs`, which were not there then."""
    with subject.beside():
        truth = subject.truth(model, inputs)
    order = sorted(range(subject.sets), key=lambda _: secrets.randbits(32))
    room = _room(truth)
    for numbers in [order] if subject.sets * room <= _AT_ONCE else [[number] for number in order]:
        # Once: a call may change what it is given, as its reference does.
        header: dict[str, object] = {"do": "renew", "rounds": [[number, 0] for number in numbers], "times": [0, 1]}
        with subject.beside():
            _, outputs = subject.talk.ask("cuda", {**header, "outputs": True}, [inputs], len(numbers) * room)
            if not isinstance(outputs, list) or len(outputs) != len(numbers):
                outputs = [None] * len(numbers)
            for output in outputs:
                if (mismatch := numerics.compare(truth, output, "while it was timed")) is not None:
                    return mismatch
    return None


def _compared(subject: Subject, truth: numerics.Truth, number: int) -> Mismatch | None:
    _, output = subject.talk.ask("cuda", {"do": "timed", "set": number}, None, _room(truth))
    return numerics.compare(truth, output, "while it was timed")


def _room(truth: numerics.Truth) -> int:
    return SPARE_BYTES + 4 * sum(t.nbytes for t in observe.tensors(truth.native))


def few(subject: Subject, sets: list[list[object]]) -> bool:
    """Whether contents for all looks are so few that they are given at once."""
    return (subject.sets + 1) * sum(tensor.nbytes for tensor in observe.tensors(sets[0])) <= _AT_ONCE


def looked(subject: Subject, sets: list[list[object]]) -> "Seen":
    """Of first looks at what a recorded call takes on other contents than those that were timed, `sets`, the ones that
    make one doubt it: it seems to take longer."""
    number = secrets.randbelow(subject.sets)
    like = sets[number]  # the list is cleared before a further look
    looks = [
        *(_Less(place, known) for place, known in enumerate(sets) if any(map(torch.is_floating_point, leaves(known)))),
        _Anew(number, lambda: subject.draw(like)),
    ]
    seen: list[tuple[float, float]] = []
    for group in [looks] if few(subject, sets) else [[look] for look in looks]:
        with subject.beside():
            seen += _looked(subject, group)
    return [(look, times) for look, times in zip(looks, seen, strict=True) if _longer(*times)]


def kept(subject: Subject, gpu: Gpu, seen: "Seen") -> Finding | None:
    """Whether a recorded call takes longer on other contents than on those that were timed, or than once more on the
    same, by first looks (`looked`) and further ones: it keeps answers.

    Memory that a recorded call asks for is the same each time, and holds what the call before left there. Others who
    share the GPU may keep a call waiting, so who seems to keep answers is asked again alone.
    """
    found = (_again(subject, gpu, look, times) for look, times in seen)
    return next((one for one in found if one is not None), None)


def _again(subject: Subject, gpu: Gpu, look: "_Anew | _Less", times: tuple[float, float]) -> Finding | None:
    """Whether a set keeps answers that seems to by the `times` of its first look."""
    other, known = [times[0]], [times[1]]
    while _longer(min(other), min(known)) and len(other) < _LOOKS:
        with subject.beside():
            (times,) = _looked(subject, [look])
        other.append(times[0])
        known.append(times[1])
    if not _longer(min(other), min(known)):
        return None
    with gpu.alone():
        pairs = [_looked(subject, [look])[0] for _ in range(_LOOKS_ALONE)]
    first, second = (float(np.median(column)) for column in zip(*pairs, strict=True))
    if not _longer(first, second):
        return None
    message = f"a call on new contents takes {1e3 * first:.0f} us and {1e3 * second:.0f} us on known ones"
    return Finding(rule="cache", message=message)


def _longer(milliseconds: float, than: float) -> bool:
    return milliseconds > _LONGER * than + _LONGER_MS


def _looked(subject: Subject, looks: Sequence["_Anew | _Less"]) -> list[tuple[float, float]]:
    """By look the milliseconds of a call on contents that were not there before it, and of one on known ones."""
    rounds: list[list[int]] = []
    contents: list[list[object]] = []
    last: list[int] = []
    for look in looks:
        for inputs in look.contents():
            rounds.append([look.number, len(contents)])
            contents.append(inputs)
        last.append(len(rounds) - 1)
    header: dict[str, object] = {"do": "renew", "rounds": rounds, "times": [2, 2]}
    told = subject.talk.ask("cuda", header, contents)[0].get("milliseconds")
    told = told if isinstance(told, list) and len(told) == len(rounds) else [None] * len(rounds)
    return [look.times(*_four(told[place])) for look, place in zip(looks, last, strict=True)]


def _four(row: object) -> list[float]:
    """What two calls before, and two after, took; 0 where that is not told."""
    sides = [side for side in row if isinstance(side, list)] if isinstance(row, list) else []
    calls = [number_of(one) for side in sides for one in side]
    return calls if len(calls) == 4 else [0.0] * 4


@dataclass
class _Anew:
    """A set that holds other contents each time: what is kept of the last call is of no use there."""

    number: int
    draw: Callable[[], list[object]]

    def contents(self) -> list[list[object]]:
        """What it is to hold, one after the other."""
        return [self.draw()]

    @staticmethod
    def times(_: float, __: float, first: float, second: float) -> tuple[float, float]:
        """Of two calls before it held the last of that, and two after: one on new contents, and one more."""
        return first, second


@dataclass
class _Less:
    """A set that holds what was timed, and then numbers a little smaller: a kernel whose work hangs on them has as much
    of it, and what is kept of what was timed, be it of the first call alone, is of no use."""

    number: int
    known: list[object]
    looks: int = 0

    def contents(self) -> list[list[object]]:
        """What it is to hold, one after the other; what was timed is there at first."""
        before = [self.known] if self.looks else []
        self.looks += 1
        return [*before, [map_tensors(item, self._smaller) for item in self.known]]

    @staticmethod
    def times(_: float, again: float, first: float, second: float) -> tuple[float, float]:
        """Of two calls on what was timed and two on smaller numbers: one on the latter, and the least of the others."""
        return first, min(again, second)

    def _smaller(self, tensor: torch.Tensor) -> torch.Tensor:
        if not torch.is_floating_point(tensor):  # may be places, lengths, or labels
            return tensor
        return held(wide(tensor) * (1 - 2.0**-6 - 2.0**-9 * self.looks), tensor.dtype)


Seen = list[tuple[_Anew | _Less, tuple[float, float]]]
"""By look the milliseconds of a call on other contents and of one on known ones."""


def number_of(value: object) -> float:
    """Milliseconds that a runner told; 0 for anything that is no time."""
    return value if isinstance(value, float) and 0 < value < 1e9 else 0.0
