"""Functions of `torch.nn.functional` traced with symbols where torch itself would ask for the numbers.

Group normalisation with any number of groups, nearest-neighbour upsampling, pooling with large windows (`externs`),
and dropout, which is the identity or has no answer. Everything else runs as it is, and what it asks for becomes a
number.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode


class Untraceable(Exception):
    """A task that has no graph of the kind wanted here; its text is a Miss's reason."""


UNROLLED = 4
"""Widest pooling window that Inductor's unrolled form is taken for; scaling a task down leaves such numbers alone."""

Numbers = int | Sequence[int]


class Symbolic(TorchFunctionMode):
    """Replaces functions that would turn symbols into numbers."""

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        words = dict(kwargs or {})
        result = _REPLACED[func](*args, **words) if func in _REPLACED else NotImplemented
        return func(*args, **words) if result is NotImplemented else result


def _group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    batch, channels, *rest = input.shape
    grouped = input.reshape(batch, num_groups, channels // num_groups * math.prod(rest))
    variance, mean = torch.var_mean(grouped, dim=2, correction=0, keepdim=True)
    output = ((grouped - mean) * torch.rsqrt(variance + eps)).reshape(input.shape)
    shape = (1, channels, *(1 for _ in rest))
    output = output if weight is None else output * weight.reshape(shape)
    return output if bias is None else output + bias.reshape(shape)


def _dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if training and p > 0:
        raise Untraceable("draws random numbers")
    return input


def _interpolate(
    input: Tensor, size: object = None, scale_factor: object = None, mode: str = "nearest", *_: object, **__: object
) -> Tensor:
    factors = [scale_factor] * (input.dim() - 2) if isinstance(scale_factor, (int, float)) else scale_factor
    if mode != "nearest" or not isinstance(factors, (list, tuple)) or not all(float(f).is_integer() for f in factors):
        return NotImplemented
    for dim, factor in enumerate(map(int, factors), 2):
        shape = [*input.shape[: dim + 1], factor, *input.shape[dim + 1 :]]
        merged = [*input.shape[:dim], input.shape[dim] * factor, *input.shape[dim + 1 :]]
        input = input.unsqueeze(dim + 1).expand(shape).reshape(merged)
    return input


def _max_pool(rank: int) -> Callable[..., Tensor]:
    def pool(
        input: Tensor,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        padding: Numbers = 0,
        dilation: Numbers = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Tensor:
        if ceil_mode or return_indices:
            return NotImplemented
        return _pool(rank, input, kernel_size, stride, padding, dilation, False, False)

    return pool


def _avg_pool(rank: int) -> Callable[..., Tensor]:
    def pool(
        input: Tensor,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        padding: Numbers = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        if ceil_mode or divisor_override is not None:
            return NotImplemented
        return _pool(rank, input, kernel_size, stride, padding, 1, True, count_include_pad)

    return pool


def _pool(
    rank: int,
    x: Tensor,
    kernel: Numbers,
    stride: Numbers | None,
    padding: Numbers,
    dilation: Numbers,
    mean: bool,
    padded: bool,
) -> Tensor:
    def each(numbers: Numbers) -> list[int]:
        items = list(numbers) if isinstance(numbers, (list, tuple)) else [numbers]
        return items * rank if len(items) == 1 else items  # type: ignore[return-value]

    sizes = each(kernel)
    unrolled = (rank == 2 or (rank == 1 and mean)) and max(map(_hint, sizes)) <= UNROLLED
    if x.dim() != rank + 2 or unrolled:
        return NotImplemented
    steps = sizes if stride is None or stride == [] else each(stride)
    return torch.ops.tritonsmith.pool(x, sizes, steps, each(padding), each(dilation), mean, padded)


def _hint(number: int | torch.SymInt) -> int:
    """The number that a symbol stands for in the task at hand, without making it that number."""
    return number.node.hint if isinstance(number, torch.SymInt) else number


_REPLACED: dict[object, Callable[..., Tensor]] = {
    F.group_norm: _group_norm,
    **dict.fromkeys((F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.alpha_dropout), _dropout),
    F.interpolate: _interpolate,
    **dict.fromkeys((F.max_pool1d, torch.max_pool1d), _max_pool(1)),
    **dict.fromkeys((F.max_pool2d, torch.max_pool2d), _max_pool(2)),
    **dict.fromkeys((F.max_pool3d, torch.max_pool3d), _max_pool(3)),
    F.avg_pool1d: _avg_pool(1),
    F.avg_pool2d: _avg_pool(2),
    F.avg_pool3d: _avg_pool(3),
}
