"""Integer operations that have no value, for which the interpreter has one: it is drawn, lane by lane.

A quotient or a remainder by zero, one of the smallest number by -1, and a shift by no count of the bits: LLVM promises
nothing of these, and each GPU gives something else (LLVM Language Reference, "sdiv", "srem", "shl"; PTX ISA, "div").
Honest kernels compute them where they mask them off later. Who looks at one sees now this and now that.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from triton.runtime import interpreter

Integers = npt.NDArray[Any]

_draw = np.random.default_rng()


def no_quotient(one: Integers, other: Integers) -> npt.NDArray[np.bool_]:
    """Where a division has no result."""
    if one.dtype.kind != "i":
        return other == 0
    return (other == 0) | ((other == -1) & (one == np.iinfo(one.dtype).min))


def no_shift(one: Integers, other: Integers) -> npt.NDArray[np.bool_]:
    """Where a shift has none."""
    return (other < 0) | (other >= one.dtype.itemsize * 8)


def drawn(found: Integers, none: npt.NDArray[np.bool_], given: Integers) -> Integers:
    """Values, with others where there are none: what processors give (zero, all bits, the operand), or any."""
    whole, shape = np.broadcast_to(given, found.shape).astype(found.dtype), found.shape
    limits = np.iinfo(found.dtype)
    some = _draw.integers(limits.min, limits.max, shape, found.dtype, endpoint=True)
    choices = [np.zeros_like(some), ~np.zeros_like(some), whole, some]
    return np.where(none, np.choose(_draw.integers(0, len(choices), shape), choices), found)


def install() -> None:
    """Put them into the interpreter, for this process."""
    builder = interpreter.InterpreterBuilder
    for name in ("idiv", "srem", "urem"):
        setattr(builder, f"create_{name}", _settled(getattr(builder, f"create_{name}"), no_quotient))
    for name in ("shl", "lshr", "ashr"):
        setattr(builder, f"create_{name}", _settled(getattr(builder, f"create_{name}"), no_shift))


def _settled(
    method: Callable[..., interpreter.TensorHandle], undefined: Callable[[Integers, Integers], npt.NDArray[np.bool_]]
) -> Callable[..., interpreter.TensorHandle]:
    def call(self, lhs, rhs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        if lhs.data.dtype.kind not in "iu" or rhs.data.dtype.kind not in "iu":
            return method(self, lhs, rhs)
        with np.errstate(all="ignore"):
            found, none = method(self, lhs, rhs), undefined(lhs.data, rhs.data)
        return interpreter.TensorHandle(drawn(found.data, none, lhs.data), found.dtype) if none.any() else found

    return call
