"""Inputs of magnitudes that no draw has: beyond numbers in the texts (`tasks.literals`), just below where a reference
overflows, and huge ones.

A reference that lets a large number stand for minus infinity is not given any of its size: there a kernel may take
infinity itself. Where the reference's own answer is no number, or lost in rounding, there are none such. Runs the
task's code, never a candidate's.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import nn

from tritonsmith.tasks.format import forward
from tritonsmith.tasks.promised import rises, unbounded
from tritonsmith.tasks.trees import finite, leaves, map_tensors
from tritonsmith.tasks.values import Side, uniform
from tritonsmith.verify.reference import edges
from tritonsmith.verify.reference.fitting import sound
from tritonsmith.verify.reference.in_steps import in_steps
from tritonsmith.verify.reference.truth import truth_of

SPANS = (1.125, 0.475), (1.02, 0.06)
"""Values are from so many times a level on, up to so much more: not far, since `exp` of them may have to be finite, and
nearer where it is not."""
_SOME = 0.5
"""Share of values that are beyond where the answer to such alone says nothing, as where a window ends."""
_LEAST, _MOST, _HALVINGS, _BELOW = 1.0, 4096.0, 16, 0.96
"""Magnitudes between which what has an exponential in it overflows, how often the bounds of the one where it does so
are halved, and how far below that values are: a thirtieth of the answer, where it is `exp`, is room for what honest
kernels have on the way."""
HUGE = 2.0**66, 2.0**33
"""Factors in turn. The first one's squares are beyond float32, and the second one's products beyond 64 bits."""


def beyond(model: nn.Module, inputs: list[object], level: float, side: Side) -> list[object]:
    """Inputs of which what has no bounds is beyond a level; raises ValueError where there are none such."""
    _check(model, inputs)
    for span in SPANS:
        found = _each(inputs, lambda one, span=span: _beyond(one, level, side, span))
        if finite(answer := forward(model, found)):
            return _some(inputs, found) if edges.next_to_nothing(answer) else found
    raise ValueError("the reference's answer is no number")


def brink(model: nn.Module, inputs: list[object]) -> list[object]:
    """Inputs of which what has no bounds is spread evenly up to where the reference overflows nearly, on both sides of
    zero; raises ValueError where it does not before `_MOST`."""
    _check(model, inputs)
    even = _each(inputs, lambda one: _kept(one, 2 * _drawn(one, 1)[0] - 1))

    def bears(size: float) -> bool:
        return finite(forward(model, _each(even, lambda one: one * size)))

    least, most = 0.0, _MOST
    if bears(most):
        raise ValueError("the reference does not overflow")
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        least, most = (middle, most) if bears(middle) else (least, middle)
    if least < _LEAST:
        raise ValueError("the reference overflows everywhere")
    return _each(even, lambda one: one * (_BELOW * least))


def _check(model: nn.Module, inputs: list[object]) -> None:
    if not any(map(unbounded, leaves(inputs))):
        raise ValueError("no input is without bounds")
    if edges.hides(model, inputs):
        raise ValueError("a large number stands for infinity")


def _each(inputs: list[object], change: Callable[[torch.Tensor], torch.Tensor]) -> list[object]:
    """Inputs with others for what has no bounds."""
    return [map_tensors(item, lambda one: change(one) if unbounded(one) else one) for item in inputs]


def _some(inputs: list[object], changed: list[object]) -> list[object]:
    """Of either in every second place, as a draw has it."""
    pairs = zip(leaves(inputs), leaves(changed), strict=True)
    return edges.put(inputs, [torch.where(_drawn(one, 1)[0] < _SOME, other, one) for one, other in pairs])


def _beyond(tensor: torch.Tensor, level: float, side: Side, span: tuple[float, float]) -> torch.Tensor:
    drawn, (nearest, spread) = _drawn(tensor, 2), span
    sizes = level * (nearest + spread * drawn[0])
    negative = drawn[1] < 0.5 if side == "either" else torch.full_like(drawn[1], side == "below", dtype=torch.bool)
    return _kept(tensor, torch.where(negative, -sizes, sizes))


def _drawn(tensor: torch.Tensor, many: int) -> torch.Tensor:
    """So many draws (a first dimension) from 0 to 1 in a tensor's shape. Where half of its values are there twice, as
    those of a table with two equal halves are, equal ones have equal draws."""
    given, places = torch.unique(tensor, return_inverse=True)
    return uniform(given.float(), many)[:, places] if 2 * len(given) <= tensor.numel() + 1 else uniform(tensor, many)


def _kept(tensor: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The values in a tensor's type and its order, and its zeros."""
    found = values.to(tensor.dtype)
    found = found.sort(dim=-1).values if rises(tensor) else found
    return found.where(tensor != 0, torch.zeros_like(found))


def huge(model: nn.Module, inputs: list[object]) -> list[object]:
    """Inputs of which what has no bounds is huge, as far as the reference bears it; raises ValueError where not."""
    _check(model, inputs)
    for factor in HUGE:
        found = _each(inputs, lambda one, by=factor: one * by)
        if not finite(found) or not sound(truth := truth_of(model, found)):
            continue
        if sound(replace(truth, native=in_steps(model, found))):  # as a kernel has them
            return found
    raise ValueError("the reference bears nothing huge")
