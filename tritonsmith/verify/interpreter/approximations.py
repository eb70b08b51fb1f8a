"""Functions of Triton's language that a GPU approximates without subnormal numbers, which the interpreter has.

Triton compiles these of float32 to instructions of PTX that flush them to zero (`ex2.approx.ftz`, `sqrt.approx.ftz`,
`rsqrt.approx.ftz`, `cvt.rmi.ftz`, `cvt.rpi.ftz`), or to libdevice's functions, which do (`tl.erf`, `tl.sin`). So says
what it compiles for `sm_90`; `tl.exp`, the logarithms and arithmetic keep them, and so does float64.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from triton.runtime import interpreter

_FLUSHING = ("exp2", "sqrt", "rsqrt", "floor", "ceil", "erf", "sin")
_TINY = np.finfo(np.float32).tiny


def flushed(values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """With zeros, of their signs, for what float32 holds as subnormal numbers."""
    small = np.abs(values) < _TINY
    return np.where(small, np.copysign(0, values).astype(values.dtype), values) if small.any() else values


def install() -> None:
    """Put them into the interpreter, for this process."""
    builder = interpreter.InterpreterBuilder
    for name in _FLUSHING:
        setattr(builder, f"create_{name}", _flushing(getattr(builder, f"create_{name}")))


def _flushing(method: Callable[..., interpreter.TensorHandle]) -> Callable[..., interpreter.TensorHandle]:
    def call(self, arg):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        if arg.data.dtype != np.float32:
            return method(self, arg)
        found = method(self, interpreter.TensorHandle(flushed(arg.data), arg.dtype))
        return interpreter.TensorHandle(flushed(found.data), found.dtype)

    return call
