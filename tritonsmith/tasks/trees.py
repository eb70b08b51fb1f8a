"""Tensors in nested lists, tuples and dicts: all of them in their order, and what kinds of numbers they hold."""

import math
from collections.abc import Callable

import torch
from torch.utils import _pytree as pytree

FLOAT8 = frozenset(
    kind for name, kind in vars(torch).items() if name.startswith("float8_") and isinstance(kind, torch.dtype)
)
"""8-bit floats: torch stores and converts them, and computes with none. They are operands as they were quantised, so
that a model in another precision has them as they are."""
_KINDS = FLOAT8 | {
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.complex128, torch.complex64, torch.complex32,
    torch.bool, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32,
    torch.uint64,
}  # fmt: skip
"""Types of tensors that a task may have."""


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers in a type that torch computes with: 8-bit floats as float32, which holds them all."""
    return tensor.float() if tensor.dtype in FLOAT8 else tensor


def held(values: torch.Tensor, kind: torch.dtype) -> torch.Tensor:
    """Values in another type; what an 8-bit float is too small for is the largest that it holds."""
    if kind not in FLOAT8:
        return values.to(kind)
    bounds = torch.finfo(kind)
    return values.clamp(bounds.min, bounds.max).to(kind)


def finite(output: object) -> bool:
    """Whether nothing of an output is NaN or infinity."""
    told = [value for value in pytree.tree_leaves(output) if isinstance(value, float)]
    return all(map(math.isfinite, told)) and all(math.isfinite(_greatest(tensor)) for tensor in leaves(output))


def _greatest(tensor: torch.Tensor) -> float:
    """The greatest of the absolute values, NaN where one is: by one kernel, where `isfinite` takes five. 0 of whole
    numbers and truths, which are all finite."""
    if not (tensor.is_floating_point() or tensor.is_complex()) or not tensor.numel():
        return 0.0
    plain = tensor.detach()
    real = torch.view_as_real(plain.resolve_conj()) if plain.is_complex() else wide(plain)
    return float(torch.linalg.vector_norm(real, math.inf))


def check_kinds(tree: object) -> None:
    """Raises TypeError where a tensor is of a kind with which nothing is computed or compared here.

    These are quantised, sparse and nested ones, and types of fewer than eight bits.
    """
    for tensor in leaves(tree):
        if tensor.layout != torch.strided or tensor.is_nested:
            raise TypeError("a tensor that is sparse or nested is not judged; give its parts")
        if tensor.dtype not in _KINDS:
            raise TypeError(f"a tensor of {tensor.dtype} is not judged; give what it stands for, or its bytes")


def leaves(tree: object) -> list[torch.Tensor]:
    """Every tensor in nested lists, tuples and dicts, in order."""
    found: list[torch.Tensor] = []

    def note(tensor: torch.Tensor) -> torch.Tensor:
        found.append(tensor)
        return tensor

    map_tensors(tree, note)
    return found


def map_tensors(tree: object, change: Callable[[torch.Tensor], torch.Tensor]) -> object:
    """Apply a function to every tensor in nested lists, tuples and dicts."""
    if isinstance(tree, torch.Tensor):
        return change(tree)
    if isinstance(tree, (list, tuple)):
        items = [map_tensors(item, change) for item in tree]
        return items if isinstance(tree, list) else tuple(items)  # a named tuple's type takes its items one by one
    if isinstance(tree, dict):
        return {key: map_tensors(item, change) for key, item in tree.items()}
    return tree


def continuous(tensor: torch.Tensor) -> bool:
    """Whether it holds numbers with a fraction, and no places or counts."""
    return tensor.is_floating_point() or tensor.is_complex()
