"""Conversions in the interpreter as a GPU makes them: numbers given to a launch are float32, integers saturate.

Triton hands a launch's Python float to its kernel as a float32; the interpreter would keep Python's double, which is no
tensor and takes the type of what it meets. A launch's truth is one bit there, for which the interpreter would make a
number of 32 and refuse it. A float becomes an integer by PTX's `cvt` (PTX ISA, "cvt"): what is too large becomes the
largest, and what is no number mostly zero; 8 bits are what is left of 16, as Triton compiles it. A shift to the right
leaves its operands as they are, where the interpreter changes them, and a sum of integers wraps. So does one of truths,
of which two make none, where numpy's makes one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import triton.language as tl
from triton.runtime import interpreter


def saturated(values: npt.NDArray[np.generic], kind: npt.DTypeLike, double: bool | None = None) -> npt.NDArray[Any]:
    """Floats cut to integers as `cvt.rzi` does; to 8 bits by way of 16, of which those above are lost.

    `double`, where the values do not tell, is whether they stand for float64: what is no number among those, and
    everywhere in 64 bits, becomes the highest bit alone.
    """
    wanted = np.dtype(kind)
    limits = np.iinfo(str(wanted) if wanted.itemsize > 1 else f"{wanted.kind}2")
    found = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
    least, most = found <= limits.min, found >= limits.max
    data = np.where(least | most, 0.0, found).astype(limits.dtype)
    data = np.where(least, limits.dtype.type(limits.min), data)
    data = np.where(most, limits.dtype.type(limits.max), data)
    wide = limits.bits == 64 or (values.dtype == np.float64 if double is None else double)
    if wide and (none := np.isnan(values)).any():
        highest = limits.min if limits.min else limits.max // 2 + 1
        data = np.where(none, limits.dtype.type(highest), data)
    return data.astype(wanted)


def install() -> None:
    """Put them into the interpreter, for this process."""
    convert: Callable[[object], object] = interpreter._implicit_cvt

    def implicit_cvt(arg: object) -> object:
        if isinstance(arg, float):
            with np.errstate(over="ignore"):
                data = np.array([arg], np.float32)
            return tl.tensor(interpreter.TensorHandle(data, tl.float32), tl.float32)
        if isinstance(arg, bool):
            return tl.tensor(interpreter.TensorHandle(np.array([arg], np.bool_), tl.int1), tl.int1)
        found = convert(arg)
        if isinstance(arg, int) and isinstance(
            found, tl.tensor
        ):  # the type says 64 bits from 2^31 on, the data said 32
            found.handle.data = found.handle.data.astype(interpreter._get_np_dtype(found.dtype))  # type: ignore[attr-defined]
        return found

    interpreter._implicit_cvt = implicit_cvt  # type: ignore[assignment]
    builder = interpreter.InterpreterBuilder
    cast = builder.cast_impl

    def cast_impl(self, src, dst_type):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        kind = dst_type.scalar
        if src.dtype.scalar.is_floating() and kind.is_int() and kind.primitive_bitwidth >= 8:
            return interpreter.TensorHandle(saturated(src.data, interpreter._get_np_dtype(kind)), kind)
        return cast(self, src, dst_type)

    def create_ashr(self, lhs, rhs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        signed = [
            interpreter.TensorHandle(one.data.astype(interpreter._get_signed_np_dtype(one.data.dtype)), one.dtype)
            for one in (lhs, rhs)
        ]
        return self.binary_op(*signed, np.right_shift)

    def wrapping(of_numbers: np.ufunc) -> Callable[..., object]:
        def operation(self, lhs, rhs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            truths = lhs.data.dtype == rhs.data.dtype == np.bool_
            return self.binary_op(lhs, rhs, np.logical_xor if truths else of_numbers)

        return operation

    def get_all_ones_value(self, type):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        kind = interpreter._get_np_dtype(type.scalar)  # of no sign, perhaps, for which numpy has no -1
        return interpreter.TensorHandle(np.full(1, -1, np.int64).astype(kind), type.scalar)

    builder.get_all_ones_value = get_all_ones_value  # type: ignore[method-assign]
    builder.create_add, builder.create_sub = wrapping(np.add), wrapping(np.subtract)  # type: ignore[method-assign]
    reductions = interpreter.ReduceScanOpInterface
    packed = reductions.to_tensor

    def to_tensor(self, ret, dtype):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        if isinstance(ret, (int, np.integer)):  # a sum wraps, as every integer does; numpy would refuse it
            ret = np.array(ret).astype(interpreter._get_np_dtype(dtype))[()]
        return packed(self, ret, dtype)

    reductions.to_tensor = to_tensor  # type: ignore[method-assign]
    builder.cast_impl, builder.create_ashr = cast_impl, create_ashr  # type: ignore[method-assign]
