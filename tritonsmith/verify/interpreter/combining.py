"""`tl.reduce` and `tl.associative_scan` with a candidate's own function, fast enough for the interpreter.

Triton's interpreter calls such a function once an element, a minute for what a GPU does in microseconds; `tl.sort` and
`tl.topk` are made of them too. Here neighbours are combined all at once, in a tree, as a GPU does: the function must be
associative there as well. One that cannot take several values, because it branches on them, goes the slow way.

A reduction's function must be commutative besides (Triton's documentation of `tl.reduce`): each thread first combines
what it holds, which are no neighbours. So the elements are combined in an order that is not theirs.
"""

import functools
import itertools
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import triton.language as tl
from triton.runtime import interpreter

Arrays = list[npt.NDArray[np.number]]
_Combine = Callable[[Arrays, Arrays], Arrays]


def install() -> None:
    """Put the trees into the interpreter, for this process."""
    reduces, scans = interpreter.ReduceOps, interpreter.ScanOps
    slow_reduce, slow_scan = reduces.generic_reduce, scans.generic_scan

    def reduce(self, input):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        parts, axis = self.unravel(input, self.axis)
        if not _is_tritons(self.combine_fn):
            parts = tuple(_mixed(self, part, axis) for part in parts)
            input = parts if self.axis is not None else tuple(map(_shaped_like, parts, input))
        try:
            found = reduced(_arrays(parts, axis), _combination(self, parts))
        except (ValueError, TypeError):  # a branch, which one value alone can take
            return slow_reduce(self, input)
        if self.axis is not None:
            shaped = [np.moveaxis(data, -1, axis) if self.keep_dims else data[..., 0] for data in found]
        else:
            whole = (1,) * len(input[0].handle.data.shape)
            shaped = [data.reshape(whole) if self.keep_dims else data.item() for data in found]
        return [self.to_tensor(data, part.dtype) for data, part in zip(shaped, parts, strict=True)]

    def scan(self, input):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        try:
            found = scanned(_arrays(input, self.axis), _combination(self, input))
        except (ValueError, TypeError):
            return slow_scan(self, input)
        shaped = [np.moveaxis(data, -1, self.axis) for data in found]
        return [self.to_tensor(data, part.dtype) for data, part in zip(shaped, input, strict=True)]

    reduces.generic_reduce = reduce
    scans.generic_scan = scan


def reduced(arrays: Arrays, combine: _Combine) -> Arrays:
    """Arrays reduced over the last dimension, which stays with size 1; neighbours are combined in order."""
    while (size := arrays[0].shape[-1]) > 1:
        even = size // 2 * 2
        pairs = combine([a[..., 0:even:2] for a in arrays], [a[..., 1:even:2] for a in arrays])
        arrays = [np.concatenate((pair, a[..., even:]), -1) for pair, a in zip(pairs, arrays, strict=True)]
    return arrays


def scanned(arrays: Arrays, combine: _Combine) -> Arrays:
    """Inclusive scan over the last dimension by recursive doubling (Hillis and Steele 1986)."""
    distance = 1
    while distance < arrays[0].shape[-1]:
        # Of the full length, for blocks of Triton's have powers of two; what is joined to itself is not used.
        earlier = [np.concatenate((a[..., :distance], a[..., :-distance]), -1) for a in arrays]
        later = combine(earlier, arrays)
        arrays = [
            np.concatenate((a[..., :distance], b[..., distance:]), -1) for a, b in zip(arrays, later, strict=True)
        ]
        distance *= 2
    return arrays


@functools.cache
def mixed(size: int) -> npt.NDArray[np.int64]:
    """An order of so many elements in which neither end comes first or last, as far as there are others."""
    if size < 4:
        return np.arange(size)[::-1]
    orders = (np.random.default_rng(seed).permutation(size) for seed in itertools.count(size))
    return next(one for one in orders if 0 < one[0] < size - 1 and 0 < one[-1] < size // 2)


def _mixed(operation: interpreter.ReduceScanOpInterface, part: tl.tensor, axis: int) -> tl.tensor:
    data = part.handle.data  # type: ignore[attr-defined]
    return operation.to_tensor(np.take(data, mixed(data.shape[axis]), axis), part.dtype)


def _shaped_like(part: tl.tensor, whole: tl.tensor) -> tl.tensor:
    data = part.handle.data.reshape(whole.handle.data.shape)  # type: ignore[attr-defined]
    return tl.tensor(interpreter.TensorHandle(data, whole.handle.dtype), whole.type)  # type: ignore[attr-defined]


def _is_tritons(function: object) -> bool:
    """Whether a function is one of Triton's own, which knows what it does where values are equal."""
    return str(getattr(getattr(function, "fn", function), "__module__", "")).startswith("triton.")


def _arrays(parts: Sequence[tl.tensor], axis: int) -> Arrays:
    return [np.moveaxis(part.handle.data, axis, -1) for part in parts]  # type: ignore[attr-defined]


def _combination(operation: interpreter.ReduceScanOpInterface, parts: Sequence[tl.tensor]) -> _Combine:
    """The candidate's function on arrays."""

    def combine(left: Arrays, right: Arrays) -> Arrays:
        given = [operation.to_tensor(a, part.dtype) for side in (left, right) for a, part in zip(side, parts)]  # noqa: B905
        found = operation.combine_fn.fn(*given)
        results = found if isinstance(found, tuple) else (found,)
        values = [result.handle.data if isinstance(result, tl.tensor) else result for result in results]
        return [np.broadcast_to(v, a.shape).astype(a.dtype) for v, a in zip(values, left, strict=True)]

    return combine
