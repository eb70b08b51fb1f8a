"""What torch asserts on a GPU, asked before: an assertion there ends the process, where a CPU raises.

Covers what a model may be given beyond its range when a task's values are changed: indices, labels, probabilities; and
so knows which tensors are taken for places, and of how many. Knows nothing of kernels of a candidate, which has a
process of its own to lose.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

_Arguments = Sequence[object]


class Places(NamedTuple):
    """What an operator takes for places of something."""

    index: Tensor
    least: int
    end: int
    """They are in [least, end)."""


def _index(given: object, least: int, end: int) -> Iterator[Places]:
    if isinstance(given, Tensor) and given.numel() and given.dtype != torch.bool:
        yield Places(given, least, end)


def _along(args: _Arguments) -> Iterator[Places]:
    """`gather`, `scatter` and their kind: tensor, dimension, index."""
    tensor, dim, index = args[:3]
    if isinstance(tensor, Tensor) and isinstance(dim, int) and tensor.dim():
        yield from _index(index, 0, tensor.shape[dim])


def _filled(args: _Arguments) -> Iterator[Places]:
    """`index_fill`, which counts from the end too."""
    tensor, dim, index = cast(Tensor, args[0]), cast(int, args[1]), args[2]
    if tensor.dim():
        yield from _index(index, -tensor.shape[dim], tensor.shape[dim])


def _rows(args: _Arguments) -> Iterator[Places]:
    """`embedding`: table, index."""
    yield from _index(args[1], 0, cast(Tensor, args[0]).shape[0])


def _items(args: _Arguments) -> Iterator[Places]:
    """`tensor[index, ...]`: an index for each first dimension, or None; masks (truths, bytes) take several."""
    tensor, given = cast(Tensor, args[0]), cast(Sequence[object], args[1])
    if any(isinstance(one, Tensor) and one.dtype in (torch.bool, torch.uint8) for one in given):
        return
    for size, index in zip(tensor.shape, given, strict=False):
        yield from _index(index, -size, size)


def _labels(args: _Arguments) -> Iterator[Places]:
    """`nll_loss`: logarithms by class, labels, weights, reduction, the label that is left out."""
    scores, labels, ignored = cast(Tensor, args[0]), cast(Tensor, args[1]), args[4] if len(args) > 4 else -100
    kept = labels[labels != ignored]
    whole = labels if kept.numel() == labels.numel() else kept
    yield from _index(whole, 0, scores.shape[1 if scores.dim() > 1 else 0])


_TAKEN: Mapping[str, Callable[[_Arguments], Iterator[Places]]] = {
    "_embedding_bag": _rows,
    "_embedding_bag_forward_only": _rows,
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


def name_of(func: object) -> str:
    """An operator's name, whichever of its overloads it is, in place or not."""
    return str(func).removeprefix("aten.").split(".")[0].removesuffix("_")


def places(func: object, args: Sequence[object]) -> Iterator[Places]:
    """What an operator takes for places."""
    if (taken := _TAKEN.get(name_of(func))) is not None:
        yield from taken(args)


def _shares(given: Tensor) -> None:
    """Raises RuntimeError for what is no probability."""
    if given.numel() and not bool(((given >= 0) & (given <= 1)).all()):
        raise RuntimeError("all elements of input should be between 0 and 1")


class Asserted(TorchDispatchMode):
    """Raises IndexError or RuntimeError for what torch would assert, before it does."""

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        for index, least, end in places(func, args):
            low, high = (int(bound) for bound in index.aminmax())
            if low < least or high >= end:
                raise IndexError(f"index out of range: {low if low < least else high} is not in [{least}, {end})")
        if name_of(func) == "binary_cross_entropy":
            _shares(cast(Tensor, args[0]))
        return func(*args, **(kwargs or {}))


def asserted(inputs: Sequence[object]) -> contextlib.AbstractContextManager[object]:
    """What a model's forward on these inputs stands in: `Asserted` on a GPU, nothing on a CPU, which raises itself."""
    on_gpu = any(isinstance(one, Tensor) and one.is_cuda for one in inputs)
    return Asserted() if on_gpu else contextlib.nullcontext()
