"""A variant's inputs: what the task draws, with the values that the variant wants. Runs the task's code, never a
candidate's."""

import secrets
from collections.abc import Callable

import torch
from torch import nn

from tritonsmith.tasks.format import TaskModule
from tritonsmith.tasks.trees import held, map_tensors, wide
from tritonsmith.tasks.variants import Variant, adapt
from tritonsmith.verify.reference import beyond, edges, fitting, places


def drawn(variant: Variant, model: Callable[[], nn.Module], device: str) -> list[object]:
    """New inputs; `model` builds the reference. Raises ValueError, or what the task's code does, where there are none
    such."""
    module = TaskModule.of(variant.task)
    given = module.inputs(secrets.randbits(31), device)
    if variant.values in edges.KINDS:
        return edges.KINDS[variant.values](model(), given)
    match variant.values:
        case "small":
            return fitting.small(model(), adapt(given, variant))
        case "beyond":
            return beyond.beyond(model(), given, variant.level, variant.side)
        case "brink":
            return beyond.brink(model(), given)
        case "huge":
            return beyond.huge(model(), given)
        case "places":
            return places.spread(model(), given, module.inputs(secrets.randbits(31), device))
        case "constants" | "numbers":
            other = module.inputs(secrets.randbits(31), device)
            return fitting.other_constants(model, given, other, variant.values == "numbers")
    return adapt(given, variant)


def in_another_order(inputs: list[object]) -> list[object]:
    """Inputs that begin elsewhere along their first dimension longer than one, at another place each time, and whose
    floats are a little smaller; dimensions of one length alike."""
    begins: dict[int, int] = {}
    factor = 1 - 2.0**-6 * (1 + secrets.randbelow(64) / 64)

    def turned(tensor: torch.Tensor) -> torch.Tensor:
        longer = next((dim for dim, size in enumerate(tensor.shape) if size > 1), None)
        if longer is not None:
            size = tensor.shape[longer]
            tensor = tensor.roll(begins.setdefault(size, 1 + secrets.randbelow(size - 1)), longer)
        return held(wide(tensor) * factor, tensor.dtype) if tensor.is_floating_point() else tensor

    return [map_tensors(item, turned) for item in inputs]
