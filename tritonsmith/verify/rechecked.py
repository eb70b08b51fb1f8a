"""What is asked of a candidate once it was timed: its answers on new contents, and whether it kept old ones.

Does not time it for the record: see `measure`.
"""

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
from torch import nn

from tritonsmith.types import Finding, Mismatch
from tritonsmith.verify import numerics
from tritonsmith.verify.conversation import SPARE_BYTES, Conversation
from tritonsmith.verify.dynamic import observe
from tritonsmith.verify.process.gpu import Gpu

_LOOKS, _LOOKS_ALONE = 2, 7
"""Calls on new contents that are held against calls on the same, beside others and alone."""
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


def kept(subject: Subject, gpu: Gpu) -> Finding | None:
    """Whether a recorded call takes longer on new contents than once more on the same ones: it keeps answers.

    Memory that a recorded call asks for is the same each time, and holds what the call before left there. Others who
    share the GPU may keep a call waiting, so who seems to keep answers is asked again alone.
    """
    with subject.beside():
        new, same = _cold(subject, _LOOKS)
    if not min(new) > _LONGER * min(same) + _LONGER_MS:
        return None
    with gpu.alone():
        new, same = _cold(subject, _LOOKS_ALONE)
    first, second = float(np.median(new)), float(np.median(same))
    if not first > _LONGER * second + _LONGER_MS:
        return None
    message = f"a call on new contents takes {1e3 * first:.0f} us and {1e3 * second:.0f} us once more on the same"
    return Finding(rule="cache", message=message)


def _cold(subject: Subject, times: int) -> tuple[list[float], list[float]]:
    """Milliseconds of so many calls on new contents, and of calls on the same ones thereafter."""
    new, same, number = [], [], secrets.randbelow(subject.sets)
    for _ in range(times):
        subject.talk.ask("cuda", {"do": "hold", "set": number}, subject.draw())
        told = subject.talk.ask("cuda", {"do": "cold", "set": number, "times": 2})[0].get("milliseconds")
        first, second = told if isinstance(told, list) and len(told) == 2 else (0.0, 0.0)
        new.append(number_of(first))
        same.append(number_of(second))
    return new, same


def number_of(value: object) -> float:
    """Milliseconds that a runner told; 0 for anything that is no time."""
    return value if isinstance(value, float) and 0 < value < 1e9 else 0.0
