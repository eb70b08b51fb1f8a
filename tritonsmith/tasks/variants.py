"""The inputs a candidate is tried on: the task's own, and extension 1's four others.

A variant exists only if the reference runs on it; that is found out by running it, see `verify.judge`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from tritonsmith.tasks.scaling import rescale
from tritonsmith.types import Task


@dataclass(frozen=True)
class Variant:
    """One way to feed a task."""

    label: str
    task: Task
    """The task at the variant's sizes."""
    fresh_seed: bool = False
    """Whether inputs are drawn under another seed than the first variant's."""
    factor: float = 1.0
    """What floating-point inputs are multiplied by."""
    dtype: torch.dtype | None = None
    """Precision of model and inputs, None for the task's own."""


def variants(task: Task, multi_input: bool, growth: float = 2.0) -> list[Variant]:
    """The task as given and, if wanted, values x2, another seed, larger dimensions, another precision.

    `growth` is the factor of the larger dimensions; the interpreter, whose time is their product, gets less.
    """
    given = Variant("as given", task)
    if not multi_input:
        return [given]
    larger = task.model_copy(update={"source": rescale(task.source, lambda value: _grow(value, growth))})
    return [
        given,
        Variant("values x2", task, factor=2.0),
        Variant("another seed", task, fresh_seed=True),
        Variant("larger dimensions", larger, fresh_seed=True),
        Variant("float16", task, dtype=torch.float16),
    ]


def _grow(value: int, growth: float) -> int:
    # Small constants are kernel sizes, strides and groups; they mean something else when enlarged.
    return int(growth * value) if value > 8 else value


def adapt(inputs: list[object], variant: Variant) -> list[object]:
    """The drawn inputs, scaled and cast as the variant says; integer tensors stay as they are."""

    def change(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point():
            return tensor
        scaled = tensor * variant.factor if variant.factor != 1.0 else tensor
        return scaled.to(variant.dtype) if variant.dtype is not None else scaled

    return [map_tensors(item, change) for item in inputs]


def map_tensors(tree: object, change: Callable[[torch.Tensor], torch.Tensor]) -> object:
    """Apply a function to every tensor in nested lists, tuples and dicts."""
    if isinstance(tree, torch.Tensor):
        return change(tree)
    if isinstance(tree, (list, tuple)):
        return type(tree)([map_tensors(item, change) for item in tree])
    if isinstance(tree, dict):
        return {key: map_tensors(item, change) for key, item in tree.items()}
    return tree
