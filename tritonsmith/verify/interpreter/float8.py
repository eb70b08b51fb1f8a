"""Casts to and from 8-bit floats for Triton's interpreter, which loses the carry where a mantissa is rounded up to two,
and takes the bits of NaN for a number.

Rounded to nearest even and saturated, as the hardware's `cvt.rn.satfinite` does (PTX ISA, section "cvt"); the formats
are those of Micikevicius et al., FP8 Formats for Deep Learning, 2022. In numpy alone: torch is watched here.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from tritonsmith.verify.interpreter.bfloat16 import widen


@dataclass(frozen=True)
class Format:
    """An 8-bit float."""

    mantissa: int
    bias: int
    most: float
    """The largest finite value; behind it comes infinity, where a format has one, and NaN."""
    infinite: bool


FORMATS = {tl.float8e5: Format(2, 15, 57344.0, True), tl.float8e4nv: Format(3, 7, 448.0, False)}
_NAN = 0x7F


def bits(values: npt.NDArray[np.float32], form: Format) -> npt.NDArray[np.uint8]:
    """The nearest numbers of a format, as bits."""
    wide, least = np.abs(values.astype(np.float64)), 1 - form.bias
    size = np.minimum(np.where(np.isnan(wide), 0.0, wide), form.most)
    exponent = np.where(size == 0, least, np.maximum(np.frexp(size)[1] - 1, least))
    steps = np.rint(np.ldexp(size, form.mantissa - exponent)).astype(np.int64)
    # A subnormal number has no leading one; a mantissa that was rounded up to two carries into the exponent by itself.
    found = steps + ((exponent - least) << form.mantissa)
    signed = np.where(np.signbit(values), 0x80, 0) | found
    return np.where(np.isnan(values), _NAN, signed).astype(np.uint8)


def numbers(raw: npt.NDArray[np.uint8], form: Format) -> npt.NDArray[np.float32]:
    """What bits of a format stand for."""
    size = (raw & 0x7F).astype(np.int32)
    exponent, fraction = size >> form.mantissa, size & ((1 << form.mantissa) - 1)
    whole = fraction + ((exponent > 0) << form.mantissa)  # a subnormal number has no leading one
    found = np.ldexp(whole.astype(np.float32), np.maximum(exponent, 1) - form.bias - form.mantissa)
    found = np.where(found > form.most, np.float32(np.nan), found)
    if form.infinite:
        found = np.where(size == 0x1F << form.mantissa, np.float32(np.inf), found)
    return np.where(raw >= 0x80, -found, found).astype(np.float32)


def install() -> None:
    """Teach the interpreter of this process; for the runner only."""
    builder = interpreter.InterpreterBuilder
    convert = builder.create_fp_to_fp

    def fp_to_fp(self, src, dst_type, rounding_mode):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        form, given = FORMATS.get(dst_type.scalar), FORMATS.get(src.dtype.scalar)
        if given is not None:
            src = TensorHandle(numbers(np.asarray(src.data), given), tl.float32)
            if dst_type.scalar == tl.float32:
                return src
        if form is None or src.dtype.scalar.is_fp8():
            return convert(self, src, dst_type, rounding_mode)
        values = np.asarray(widen(src).data).astype(np.float32)
        return TensorHandle(bits(values, form), dst_type.scalar)

    builder.create_fp_to_fp = fp_to_fp  # type: ignore[method-assign]
