"""Operations of which the interpreter gives more than Triton promises, as a GPU may have them.

`tl.maximum`, `tl.minimum` and `tl.clamp` drop NaN unless they are told to propagate it (PTX ISA, "max"); of zeros see
`extremes`. What may be reordered (`can_reorder`, `tl.view`, and `tl.cat` with it) is: elements lie with the threads
that hold them, in no order that a kernel knows. An index of `tl.gather` must lie within the dimension, and below zero
there is nothing. Of the precisions of products the interpreter knows fewer: those in parts of bfloat16 are let through.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from tritonsmith.verify.interpreter import extremes

_IN_PARTS = ("bf16x3", "bf16x6")


def install(note: Callable[[str, str], None]) -> None:
    """Put them into the interpreter, for this process; what a kernel may not do is noted, as rule and message."""
    builder, options = interpreter.InterpreterBuilder, interpreter.interpreter_builder.options
    allowed = (*options.allowed_dot_input_precisions, *_IN_PARTS)
    interpreter.interpreter_builder.options = replace(options, allowed_dot_input_precisions=allowed)
    gather, reshape = builder.create_gather, builder.create_reshape

    def create_maxnumf(self, lhs, rhs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return self.binary_op(lhs, rhs, extremes.maximum)

    def create_minnumf(self, lhs, rhs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return self.binary_op(lhs, rhs, extremes.minimum)

    def create_maximumf(self, lhs, rhs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return self.binary_op(lhs, rhs, partial(extremes.maximum, of=np.maximum))

    def create_minimumf(self, lhs, rhs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return self.binary_op(lhs, rhs, partial(extremes.minimum, of=np.minimum))

    def create_clampf(self, arg, low, high, propagate):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        if getattr(propagate, "name", "") == "ALL":
            return create_minimumf(self, create_maximumf(self, arg, low), high)
        return create_minnumf(self, create_maxnumf(self, arg, low), high)

    def create_gather(self, src, indices, axis):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        size = src.data.shape[axis]
        outside = (indices.data < 0) | (indices.data >= size)
        if outside.any():
            first = int(indices.data[outside].flat[0])
            note("out-of-bounds", f"gather at {first} of a dimension of {size} ({int(outside.sum())} such)")
            indices = TensorHandle(np.clip(indices.data, 0, size - 1), indices.dtype)
        return gather(self, src, indices, axis)

    def create_reshape(self, arg, shape, allow_reorder):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        if allow_reorder and _long(arg.data.shape) != _long(shape):
            arg = TensorHandle(np.ascontiguousarray(arg.data.reshape(-1)[::-1]), arg.dtype)
        return reshape(self, arg, shape, allow_reorder)

    def create_cat(self, lhs, rhs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        # Triton's own docstring: the compiler may reorder, and it gives each thread its elements of both.
        return TensorHandle(np.concatenate([lhs.data, rhs.data])[::-1].copy(), lhs.dtype.scalar)

    builder.create_maxnumf, builder.create_minnumf = create_maxnumf, create_minnumf  # type: ignore
    builder.create_maximumf, builder.create_minimumf = create_maximumf, create_minimumf  # type: ignore
    builder.create_clampf, builder.create_gather = create_clampf, create_gather  # type: ignore
    builder.create_reshape, builder.create_cat = create_reshape, create_cat  # type: ignore


def _long(shape: Sequence[object]) -> list[int]:
    """A shape without dimensions of one element, which hold no order."""
    return [int(size) for size in shape if int(size) != 1]  # type: ignore[call-overload]
