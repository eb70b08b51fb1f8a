"""bfloat16 arithmetic for Triton's interpreter, which keeps such numbers as 16-bit integers and adds those.

Operands are widened to float32 and results rounded to nearest even, as the hardware does. A reduction is
rounded once, at its end. Loads, stores and views need nothing: they move the bits as they are.
"""

import numpy as np
import numpy.typing as npt
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle


def widen(handle: TensorHandle) -> TensorHandle:
    """The same values as float32; what is no bfloat16 stays as it is."""
    if handle.dtype.scalar != tl.bfloat16:
        return handle
    return TensorHandle((handle.data.astype(np.uint32) << np.uint32(16)).view(np.float32), tl.float32)


def narrow(handle: TensorHandle) -> TensorHandle:
    """float32 values rounded to bfloat16; what holds no float32 stays as it is."""
    if handle.data.dtype != np.float32:
        return handle
    return TensorHandle(_bits(handle.data), tl.bfloat16)


def in_two_parts(handle: TensorHandle) -> TensorHandle:
    """float32 values as two bfloat16 add up to, which is what a product in three parts (`bf16x3`) has of them."""
    high = widen(narrow(handle)).data
    finite = np.isfinite(high)
    rest = np.where(finite, handle.data - np.where(finite, high, 0), 0).astype(np.float32)
    low = widen(narrow(TensorHandle(rest, tl.float32))).data
    return TensorHandle(np.where(finite, high + low, handle.data), tl.float32)


def _bits(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    bits = np.array(values, order="C").view(np.uint32)
    nearest_even = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), np.uint32(0x7FC0), nearest_even).astype(np.uint16).reshape(values.shape)


def install() -> None:
    """Teach the interpreter of this process; for the runner only."""
    builder = interpreter.InterpreterBuilder
    for name in ("binary_op", "ternary_op", "create_fma"):
        setattr(builder, name, _wide(getattr(builder, name)))
    cast, convert, apply = builder.cast_impl, builder.create_fp_to_fp, interpreter.ReduceScanOpInterface.apply

    def cast_impl(self, src, dst_type):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        if dst_type.scalar == tl.bfloat16 and src.dtype.scalar != tl.bfloat16:
            return narrow(cast(self, src, tl.float32))
        return cast(self, widen(src), dst_type) if dst_type.scalar != src.dtype.scalar else src

    def fp_to_fp(self, src, dst_type, rounding_mode):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        eight_bits = dst_type.scalar.is_fp8() or src.dtype.scalar.is_fp8()
        bfloat16 = tl.bfloat16 in (dst_type.scalar, src.dtype.scalar)
        return (
            cast_impl(self, src, dst_type)
            if bfloat16 and not eight_bits
            else convert(self, src, dst_type, rounding_mode)
        )

    def reduce_or_scan(self, values):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        if not isinstance(values, tuple):
            return reduce_or_scan(self, (values,))[0]
        found = apply(self, tuple(map(_widen_tensor, values)))
        return tuple(
            _narrow_tensor(out) if given.dtype == tl.bfloat16 else out
            for given, out in zip(values, found, strict=False)
        ) + tuple(found[len(values) :])

    builder.cast_impl, builder.create_fp_to_fp = cast_impl, fp_to_fp
    builder.get_bf16 = lambda self, value: narrow(TensorHandle(np.array([value], np.float32), tl.float32))  # type: ignore
    interpreter.ReduceScanOpInterface.apply = reduce_or_scan  # type: ignore


def atomic(operation: object, pointers: TensorHandle, values: TensorHandle, mask: TensorHandle) -> TensorHandle:
    """An atomic addition or exchange, lane by lane; what lay there before."""
    name = getattr(operation, "name", "")
    if name not in ("FADD", "ADD", "XCHG"):
        raise NotImplementedError(f"there is no atomic {name} of bfloat16")
    memory, old = interpreter._interpreter, np.zeros_like(values.data)
    always, bits = np.ones(1, bool), old.dtype
    for place in np.ndindex(old.shape):
        if mask.data[place]:
            at, given = pointers.data[place].reshape(1), values.data[place].reshape(1)
            held = memory.load(at, always, np.zeros(1, bits), bits)
            old[place] = held[0]
            if name != "XCHG":
                total = widen(TensorHandle(held, tl.bfloat16)).data + widen(TensorHandle(given, tl.bfloat16)).data
                given = narrow(TensorHandle(total, tl.float32)).data
            memory.store(at, given, always)
    return TensorHandle(old, tl.bfloat16)


def _wide(method):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    def call(self, *args):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN202
        if not any(isinstance(arg, TensorHandle) and arg.dtype.scalar == tl.bfloat16 for arg in args):
            return method(self, *args)
        return narrow(method(self, *(widen(arg) if isinstance(arg, TensorHandle) else arg for arg in args)))

    return call


def _widen_tensor(value: tl.tensor) -> tl.tensor:
    return _typed(value, widen(value.handle), tl.float32) if value.dtype == tl.bfloat16 else value


def _narrow_tensor(value: tl.tensor) -> tl.tensor:
    return _typed(value, narrow(value.handle), tl.bfloat16) if value.dtype == tl.float32 else value


def _typed(value: tl.tensor, handle: TensorHandle, scalar: tl.dtype) -> tl.tensor:
    kind = tl.block_type(scalar, list(value.shape)) if isinstance(value.type, tl.block_type) else scalar
    return tl.tensor(handle, kind)
