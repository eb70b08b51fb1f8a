"""Operations of interpreted kernels on values: as a GPU does them, told to who watches the launch.

float32 operands are rounded to TF32 where the kernel asks for it, as the tensor cores do; comparisons give masks; where
values go from lane to lane, the threads of a program meet.
"""

import functools
from collections.abc import Callable

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

from tritonsmith.verify.interpreter import batched, bfloat16, recorded
from tritonsmith.verify.interpreter.accesses import width
from tritonsmith.verify.interpreter.running import Running
from tritonsmith.verify.launches import descriptors

_MEETINGS = tuple(f"create_{name}" for name in ("barrier", "trans", "histogram", "gather", "cat", "join", "split"))
"""What values go from lane to lane by, beside reductions, scans and products: through shared memory and a barrier."""


def install(running: Running) -> None:
    """Put them into the interpreter, for this process."""
    _elementwise(running)
    _products(running)
    _meetings(running)
    _descriptors(running)


def _elementwise(running: Running) -> None:
    builder, launches = interpreter.InterpreterBuilder, running.launches
    operate, cast = builder.binary_op, builder.cast_impl

    def binary_op(self, lhs, rhs, op):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        # A comparison's result has its operands' type there; spread over a block it would be numbers, and no mask.
        found = operate(self, lhs, rhs, op)
        return interpreter.TensorHandle(found.data, tl.int1) if found.data.dtype == np.bool_ else found

    def cast_impl(self, src, dst_type):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        kind = dst_type.scalar
        launches.lowered |= src.dtype.scalar == tl.float32 and kind.is_floating() and kind.primitive_bitwidth < 32
        return cast(self, src, dst_type)

    builder.binary_op, builder.cast_impl = binary_op, cast_impl  # type: ignore[method-assign]


def _products(running: Running) -> None:
    builder, launches = interpreter.InterpreterBuilder, running.launches
    dot = builder.create_dot

    def create_dot(self, a, b, d, input_precision, imprecise):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        precision = getattr(input_precision, "name", "") if a.dtype.scalar == tl.float32 else ""
        launches.lowered |= precision == "TF32"
        if running.watchers:
            *batch, rows, inner = a.data.shape
            flops = 2 * int(np.prod([*batch, rows, inner, b.data.shape[-1]]))
            running.watchers[-1].dot(flops, precision == "TF32x3")
        return dot(self, _operand(a, input_precision), _operand(b, input_precision), d, input_precision, imprecise)

    builder.create_dot = _met(running, create_dot)  # type: ignore[method-assign]


def _meetings(running: Running) -> None:
    builder, exchange = interpreter.InterpreterBuilder, interpreter.ReduceScanOpInterface
    reshape = builder.create_reshape
    other_reshape = _met(running, reshape)

    def create_reshape(self, arg, shape, *rest):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
        # Into the shape that it has nothing moves.
        other = tuple(arg.data.shape) != tuple(map(int, shape))
        return (other_reshape if other else reshape)(self, arg, shape, *rest)

    builder.create_reshape = create_reshape  # type: ignore[method-assign]
    for name in _MEETINGS:
        setattr(builder, name, _met(running, getattr(builder, name)))
    exchange.apply = _whole(_met(running, exchange.apply))  # type: ignore[method-assign]


def _descriptors(running: Running) -> None:
    def validate(self):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        strides = [int(stride.data.item()) for stride in self.strides]
        itemsize = width(self.base.get_element_ty())
        message = descriptors.fault(int(self.base.data.item()), strides, itemsize)
        if message is not None:
            running.misused("descriptor", message)

    interpreter.TensorDescHandle.validate = validate  # type: ignore[method-assign]


def _met(running: Running, method: Callable[..., object]) -> Callable[..., object]:
    """The method, at which the threads of a program wait for each other."""

    def call(*args, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN002, ANN003, ANN202
        running.meet()
        return method(*args, **kwargs)

    return call


def _whole(apply: Callable[..., object]) -> Callable[..., object]:
    """A reduction or a scan, one operation whatever it is made of."""

    def call(self, input):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        parts = input if isinstance(input, tuple) else (input,)
        rows = functools.partial(batched.reduction, self, parts)
        found = recorded.whole("reduction", lambda *given: apply(self, given), rows)(*parts)
        return found if isinstance(input, tuple) else found[0]

    return call


def _operand(handle: interpreter.TensorHandle, precision: object) -> interpreter.TensorHandle:
    """A dot operand as the tensor cores see it."""
    if handle.dtype.scalar == tl.float32 and getattr(precision, "name", "") == "TF32":
        bits = np.ascontiguousarray(handle.data).view(np.uint32)
        rounded = (bits + np.uint32(0x0FFF) + ((bits >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)
        finite = np.isfinite(handle.data)
        return interpreter.TensorHandle(np.where(finite, rounded.view(np.float32), handle.data), tl.float32)
    if handle.dtype.scalar == tl.float32 and getattr(precision, "name", "") == "BF16x3":
        return bfloat16.in_two_parts(handle)
    return bfloat16.widen(handle)
