"""Minima and maxima of floats as PTX orders them: -0 lies below +0 (PTX ISA, "min" and "max").

To these Triton compiles `tl.minimum`, `tl.maximum` and `tl.clamp` of every type, and the reductions that are made of
them. Of two zeros numpy gives any.
"""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from triton.runtime import interpreter

Values = npt.NDArray[Any]


def minimum(one: Values, other: Values, of: np.ufunc = np.fmin) -> Values:
    """The smaller ones; `of` is numpy's that does with NaN what it should."""
    return _ordered(of(one, other), one, other, first=True)


def maximum(one: Values, other: Values, of: np.ufunc = np.fmax) -> Values:
    """The larger ones likewise."""
    return _ordered(of(one, other), one, other, first=False)


def _ordered(found: Values, one: Values, other: Values, first: bool) -> Values:
    """With the right one of two zeros: the first one where its sign is set or not, as `first` says."""
    if (equal := (one == other) & (found == 0)).any():
        return np.where(equal, np.where(np.signbit(one) == first, one, other), found)
    return found


def along(values: Values, axis: int | None, keepdims: bool, lowest: bool) -> Values:
    """The extremes along an axis; NaN gives way."""
    with np.errstate(invalid="ignore"):
        found = np.asarray((np.fmin if lowest else np.fmax).reduce(values, axis=axis, keepdims=keepdims))
    if values.dtype.kind == "f" and (zero := found == 0).any():
        chosen = (values == 0) & (np.signbit(values) == lowest)
        chosen = np.asarray(chosen.any(axis=axis, keepdims=keepdims))
        found = np.where(zero, np.where(chosen == lowest, -0.0, 0.0).astype(found.dtype), found)
    return cast(Values, found[()])


def install() -> None:
    """Put the reductions into the interpreter, for this process; `promises` has the rest."""
    reductions = interpreter.ReduceOps
    plain: Callable[..., object] = reductions.min_max

    def min_max(self, input, val_reduce_op, idx_reduce_op=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        if val_reduce_op not in (np.nanmax, np.nanmin) or idx_reduce_op is not None:
            return plain(self, input, val_reduce_op, idx_reduce_op)

        def of(data: Values, axis: int | None, keepdims: bool) -> Values:
            return along(data, axis, keepdims, lowest=val_reduce_op is np.nanmin)

        return plain(self, input, of)

    reductions.min_max = min_max  # type: ignore[method-assign]
