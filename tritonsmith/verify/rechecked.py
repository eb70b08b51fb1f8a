"""What is asked of a candidate once it was timed: its answers on new contents, and whether it kept old ones.

Does not time it for the record: see `measure`.
"""

import secrets
from collections.abc import Callable
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


@dataclass(frozen=True)
class Subject:
    """What is timed, and how to get at it."""

    talk: Conversation
    beside: Callable[[], AbstractContextManager[None]]
    """Use of the GPU beside other candidates."""
    model: Callable[[], nn.Module]
    """The reference."""
    draw: Callable[[], list[object]]
    """New inputs."""
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


def answered(subject: Subject, gpu: Gpu, model: nn.Module) -> Mismatch | None:
    """What is wrong with the output of one more timed call, of other values where one set was."""
    talk, number, trials = subject.talk, secrets.randbelow(subject.sets), subject.sets
    with subject.beside():
        if subject.remembers:  # that call is then the first of a model that has seen nothing
            number, trials, model = 0, 1, subject.model()
            subject.build(model)
        inputs = subject.draw()
        truth = subject.truth(model, inputs)
        gpu.tidy()
        talk.ask("cuda", {"do": "hold", "set": number}, inputs)
        talk.ask("cuda", {"do": "time", "trials": trials, "repeats": 1, "hide": False, "recorded": False})
        return _compared(subject, truth, number)


def replayed(subject: Subject, model: nn.Module) -> Mismatch | None:
    """What is wrong with the outputs of what was recorded, when all sets hold values that were not there then."""
    with subject.beside():
        inputs = subject.draw()
        truth = subject.truth(model, inputs)
    for number in sorted(range(subject.sets), key=lambda _: secrets.randbits(32)):
        with subject.beside():
            subject.talk.ask("cuda", {"do": "hold", "set": number}, inputs)
            # Once: a call may change what it is given, as its reference does.
            subject.talk.ask("cuda", {"do": "cold", "set": number, "times": 1})
            if (mismatch := _compared(subject, truth, number)) is not None:
                return mismatch
    return None


def _compared(subject: Subject, truth: numerics.Truth, number: int) -> Mismatch | None:
    room = SPARE_BYTES + 4 * sum(t.nbytes for t in observe.tensors(truth.native))
    _, output = subject.talk.ask("cuda", {"do": "timed", "set": number}, None, room)
    return numerics.compare(truth, output, "while it was timed")


def kept(subject: Subject, gpu: Gpu, sets: list[list[object]]) -> Finding | None:
    """Whether a recorded call takes longer on other contents than on those that were timed, `sets`, or than once more
    on the same: it keeps answers.

    Memory that a recorded call asks for is the same each time, and holds what the call before left there. Others who
    share the GPU may keep a call waiting, so who seems to keep answers is asked again alone.
    """
    asked = [
        _Less(subject, number, known)
        for number, known in enumerate(sets)
        if any(map(torch.is_floating_point, leaves(known)))
    ]
    for look in (*asked, _Anew(subject, secrets.randbelow(subject.sets))):
        other, known = [], []
        for _ in range(_LOOKS):
            with subject.beside():
                other.append((times := look.times())[0])
                known.append(times[1])
            if not _longer(min(other), min(known)):
                break
        else:
            with gpu.alone():
                pairs = [look.times() for _ in range(_LOOKS_ALONE)]
            first, second = (float(np.median(column)) for column in zip(*pairs, strict=True))
            if _longer(first, second):
                message = f"a call on new contents takes {1e3 * first:.0f} us and {1e3 * second:.0f} us on known ones"
                return Finding(rule="cache", message=message)
    return None


def _longer(milliseconds: float, than: float) -> bool:
    return milliseconds > _LONGER * than + _LONGER_MS


@dataclass
class _Anew:
    """A set that holds other contents each time: what is kept of the last call is of no use there."""

    subject: Subject
    number: int

    def times(self) -> tuple[float, float]:
        """Milliseconds of a call on contents that were not there before it, and of one more."""
        return self.called(self.subject.draw())

    def called(self, inputs: list[object] | None) -> tuple[float, float]:
        """The same with these contents, or with those that are there."""
        if inputs is not None:
            self.subject.talk.ask("cuda", {"do": "hold", "set": self.number}, inputs)
        told = self.subject.talk.ask("cuda", {"do": "cold", "set": self.number, "times": 2})[0].get("milliseconds")
        first, second = told if isinstance(told, list) and len(told) == 2 else (0.0, 0.0)
        return number_of(first), number_of(second)


@dataclass
class _Less(_Anew):
    """A set that holds what was timed, and then numbers a little smaller: a kernel whose work hangs on them has as much
    of it, and what is kept of what was timed, be it of the first call alone, is of no use."""

    known: list[object]
    looks: int = 0

    def times(self) -> tuple[float, float]:
        """Milliseconds of a call on smaller numbers, and the least of those on what was there."""
        again = self.called(self.known if self.looks else None)[1]  # what was timed is there at first
        self.looks += 1
        first, second = self.called([map_tensors(item, self._smaller) for item in self.known])
        return first, min(again, second)

    def _smaller(self, tensor: torch.Tensor) -> torch.Tensor:
        if not torch.is_floating_point(tensor):  # may be places, lengths, or labels
            return tensor
        return held(wide(tensor) * (1 - 2.0**-6 - 2.0**-9 * self.looks), tensor.dtype)


def number_of(value: object) -> float:
    """Milliseconds that a runner told; 0 for anything that is no time."""
    return value if isinstance(value, float) and 0 < value < 1e9 else 0.0
