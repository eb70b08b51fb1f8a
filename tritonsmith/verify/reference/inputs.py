"""A variant's inputs: what the task draws, with the values that the variant wants. Runs the task's code, never a
candidate's."""

import secrets
from collections.abc import Callable

from torch import nn

from tritonsmith.tasks.format import TaskModule
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
