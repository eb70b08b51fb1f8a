"""What torch asserts on a GPU, asked before: an assertion there ends the process, where a CPU raises.

Covers what a model may be given beyond its range when a task's values are changed: indices, labels, probabilities.
Knows nothing of kernels of a candidate, which has a process of its own to lose.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

_Arguments = Sequence[object]


def _within(index: object, least: int, end: int) -> None:
    """Raises IndexError for an index outside of [least, end)."""
    if isinstance(index, Tensor) and index.numel() and index.dtype != torch.bool:
        low, high = (int(bound) for bound in index.aminmax())
        if low < least or high >= end:
            raise IndexError(f"index out of range: {low if low < least else high} is not in [{least}, {end})")


def _along(args: _Arguments) -> None:
    """`gather`, `scatter` and their kind: tensor, dimension, index."""
    tensor, dim, index = args[:3]
    if isinstance(tensor, Tensor) and isinstance(dim, int) and tensor.dim():
        _within(index, 0, tensor.shape[dim])


def _filled(args: _Arguments) -> None:
    """`index_fill`, which counts from the end too."""
    tensor, dim, index = cast(Tensor, args[0]), cast(int, args[1]), args[2]
    if tensor.dim():
        _within(index, -tensor.shape[dim], tensor.shape[dim])


def _rows(args: _Arguments) -> None:
    """`embedding`: table, index."""
    _within(args[1], 0, cast(Tensor, args[0]).shape[0])


def _items(args: _Arguments) -> None:
    """`tensor[index, ...]`: an index for each first dimension, or None; masks (truths, bytes) take several."""
    tensor, given = cast(Tensor, args[0]), cast(Sequence[object], args[1])
    if any(isinstance(one, Tensor) and one.dtype in (torch.bool, torch.uint8) for one in given):
        return
    for size, index in zip(tensor.shape, given, strict=False):
        _within(index, -size, size)


def _shares(args: _Arguments) -> None:
    """`binary_cross_entropy`: probabilities."""
    given = cast(Tensor, args[0])
    if given.numel() and not bool(((given >= 0) & (given <= 1)).all()):
        raise RuntimeError("all elements of input should be between 0 and 1")


def _labels(args: _Arguments) -> None:
    """`nll_loss`: logarithms by class, labels, weights, reduction, the label that is left out."""
    scores, labels, ignored = cast(Tensor, args[0]), cast(Tensor, args[1]), args[4] if len(args) > 4 else -100
    _within(labels[labels != ignored], 0, scores.shape[1 if scores.dim() > 1 else 0])


_ASKED: Mapping[str, Callable[[_Arguments], None]] = {
    "binary_cross_entropy": _shares,
    "embedding": _rows,
    "gather": _along,
    "index_add": _along,
    "index_copy": _along,
    "index_fill": _filled,
    "index_select": _along,
    "scatter": _along,
    "scatter_add": _along,
    "scatter_reduce": _along,
    "index": _items,
    "index_put": _items,
    "nll_loss_forward": _labels,
    "nll_loss2d_forward": _labels,
}


class Asserted(TorchDispatchMode):
    """Raises IndexError or RuntimeError for what torch would assert, before it does."""

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        name = str(func).removeprefix("aten.").split(".")[0].removesuffix("_")
        if ask := _ASKED.get(name):
            ask(args)
        return func(*args, **(kwargs or {}))


def asserted(inputs: Sequence[object]) -> contextlib.AbstractContextManager[object]:
    """What a model's forward on these inputs stands in: `Asserted` on a GPU, nothing on a CPU, which raises itself."""
    on_gpu = any(isinstance(one, Tensor) and one.is_cuda for one in inputs)
    return Asserted() if on_gpu else contextlib.nullcontext()
