"""Inputs of magnitudes that no draw has: beyond numbers in the texts (`tasks.literals`), and huge ones.

A reference that lets a large number stand for minus infinity is not given any of its size: there a kernel may take
infinity itself. Where the reference's own answer is no number, or lost in rounding, there are none such. Runs the
task's code, never a candidate's.
"""

import secrets
from dataclasses import replace

import torch
from torch import nn

from tritonsmith.tasks.promised import unbounded
from tritonsmith.tasks.trees import finite, leaves, map_tensors
from tritonsmith.tasks.values import Side
from tritonsmith.verify.reference import edges
from tritonsmith.verify.reference.fitting import sound
from tritonsmith.verify.reference.in_steps import in_steps
from tritonsmith.verify.reference.truth import truth_of

NEAREST, SPREAD = 1.125, 0.475
"""Values are from so many times a level on, up to so much more: not far, since `exp` of them may have to be finite."""
HUGE = 2.0**66, 2.0**33
"""Factors in turn. The first one's squares are beyond float32, and the second one's products beyond 64 bits."""


def beyond(model: nn.Module, inputs: list[object], level: float, side: Side) -> list[object]:
    """Inputs of which what has no bounds is beyond a level; raises ValueError where there are none such."""
    if not any(map(unbounded, leaves(inputs))):
        raise ValueError("no input is without bounds")
    if edges.hides(model, inputs):
        raise ValueError("a large number stands for infinity")
    return [map_tensors(item, lambda one: _beyond(one, level, side) if unbounded(one) else one) for item in inputs]


def _beyond(tensor: torch.Tensor, level: float, side: Side) -> torch.Tensor:
    own = torch.Generator(tensor.device).manual_seed(secrets.randbits(31))
    drawn = torch.rand((2, *tensor.shape), device=tensor.device, generator=own)
    sizes = level * (NEAREST + SPREAD * drawn[0])
    negative = drawn[1] < 0.5 if side == "either" else torch.full_like(drawn[1], side == "below", dtype=torch.bool)
    return torch.where(negative, -sizes, sizes).to(tensor.dtype)


def huge(model: nn.Module, inputs: list[object]) -> list[object]:
    """Inputs of which what has no bounds is huge, as far as the reference bears it; raises ValueError where not."""
    if not any(map(unbounded, leaves(inputs))) or edges.hides(model, inputs):
        raise ValueError("no input may be huge")
    for factor in HUGE:
        found = [map_tensors(item, lambda one, by=factor: one * by if unbounded(one) else one) for item in inputs]
        if not finite(found) or not sound(truth := truth_of(model, found)):
            continue
        if sound(replace(truth, native=in_steps(model, found))):  # as a kernel has them
            return found
    raise ValueError("the reference bears nothing huge")
