"""Values of libdevice's functions for Triton's interpreter, which cannot call the device library.

Covers the elementary functions that kernels use, in float64 and rounded once, which is within libdevice's own error
bounds (CUDA Math API). Those that are named fast are made of a GPU's approximations in float32, with their errors (CUDA
C++ Programming Guide, "Intrinsic Functions"; PTX ISA, "sin", "lg2", "ex2").

Does not cover directed rounding, bit fiddling and Bessel functions: a kernel that calls one of those is told so.
Whether a function takes the operands' types is the compile stage's business.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import triton.language as tl
from triton.language.extra import libdevice as generic
from triton.language.extra.cuda import libdevice as cuda
from triton.language.extra.hip import libdevice as hip
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from tritonsmith.verify.interpreter import bfloat16, recorded

Array = npt.NDArray[np.float64]


def _each(function: Callable[[float], float], pole: float) -> Callable[[Array], Array]:
    """A scalar function over an array; `pole` where Python raises, as C returns there."""

    def value(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError):
            return pole

    return lambda x: np.vectorize(value, otypes=[np.float64])(x)


def _bits(x: npt.NDArray[np.generic]) -> npt.NDArray[np.uint32]:
    return np.asarray(x).astype(np.int64).astype(np.uint32)


def _inverse_erf(x: Array) -> Array:
    """Winitzki's approximation (2008, equation 7), made exact by Newton's method."""
    rest = np.log1p(-x * x)
    half = 2 / (math.pi * 0.147) + rest / 2
    y = np.copysign(np.sqrt(np.sqrt(half * half - rest / 0.147) - half), x)
    for _ in range(4):
        y = y - (_erf(y) - x) * np.exp(y * y) * math.sqrt(math.pi) / 2
    return y


def _ones(x: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    return np.vectorize(lambda one: int(one).bit_count(), otypes=[np.int64])(_bits(x))


def _length(x: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    return np.vectorize(lambda one: int(one).bit_length(), otypes=[np.int64])(_bits(x))


def _float32(x: npt.ArrayLike) -> Array:
    """Rounded to float32, in float64 for what comes next."""
    return np.asarray(x).astype(np.float32).astype(np.float64)


def _to_bits(x: Array, bits: int) -> Array:
    """Rounded to so many bits behind the point."""
    return np.rint(np.ldexp(x, bits)) * 2.0**-bits


def _of_turns(function: Callable[[Array], Array], x: Array) -> Array:
    """A sine or a cosine of an angle that is brought to parts of a turn by one product: large ones lose digits."""
    turns = _float32(x * _float32(0.5 / math.pi))
    fraction, exponent = np.frexp(function(2 * math.pi * (turns - np.rint(turns))))
    return np.ldexp(_to_bits(fraction, 21), exponent)


def _fast_log2(x: Array) -> Array:
    found = np.log2(x)
    return _float32(np.where(np.abs(found) < 1, _to_bits(found, 22), found))


def _fast_exp2(x: Array) -> Array:
    """Two to a power, which is zero where it would be no normal number."""
    found = _float32(np.exp2(x))
    return np.where(found < np.finfo(np.float32).tiny, 0.0, found)


def _scaled(function: Callable[[Array], Array], factor: float) -> Callable[[Array], Array]:
    """A power of two of what was multiplied before, in float32."""
    return lambda x: function(_float32(x * _float32(factor)))


def _fast_divide(x: Array, y: Array) -> Array:
    """A product with the reciprocal, of which there is none for a divisor from 2^126 on."""
    return np.where((np.abs(y) > 2.0**126) & np.isfinite(y), x * 0.0, x / y)


_erf, _erfc = _each(math.erf, math.nan), _each(math.erfc, math.nan)

FUNCTIONS: dict[str, Callable[..., npt.NDArray[np.generic]]] = {
    **{name: getattr(np, name) for name in ("abs", "floor", "ceil", "trunc", "rint", "sqrt", "cbrt", "exp", "exp2")},
    **{name: getattr(np, name) for name in ("expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh")},
    **{name: getattr(np, name) for name in ("cosh", "tanh", "hypot", "copysign", "fmod", "isnan", "isinf", "signbit")},
    **{f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "atan2": np.arctan2,
    "nearbyint": np.rint,
    "round": lambda x: np.trunc(x + np.copysign(0.5, x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "exp10": lambda x: np.power(10.0, x),
    "pow": np.power,
    "fdim": lambda x, y: np.maximum(x - y, 0),
    "remainder": lambda x, y: x - y * np.rint(x / y),
    "ldexp": lambda x, n: x * np.exp2(n),
    "rhypot": lambda x, y: 1 / np.hypot(x, y),
    "fma": lambda x, y, z: x * y + z,
    "sinpi": lambda x: np.sin(np.pi * x),
    "cospi": lambda x: np.cos(np.pi * x),
    "saturatef": lambda x: np.nan_to_num(np.clip(x, 0, 1)),
    "erf": _erf,
    "erfc": _erfc,
    "erfcx": lambda x: np.exp(x * x) * _erfc(x),
    "normcdf": lambda x: _erfc(-x / math.sqrt(2)) / 2,
    "lgamma": _each(math.lgamma, math.inf),
    "tgamma": _each(math.gamma, math.inf),
    "finitef": np.isfinite,
    "isfinited": np.isfinite,
    "add_rn": np.add,
    "sub_rn": np.subtract,
    "mul_rn": np.multiply,
    "div_rn": np.divide,
    "rcp_rn": np.reciprocal,
}
_WAYS = (np.rint, np.trunc, np.floor, np.ceil)
FUNCTIONS |= {f"{name}_rn": FUNCTIONS[name] for name in ("sqrt", "rsqrt", "fma")}
FUNCTIONS |= {
    "fast_sinf": lambda x: _of_turns(np.sin, x),
    "fast_cosf": lambda x: _of_turns(np.cos, x),
    "fast_tanf": lambda x: _of_turns(np.sin, x) / _of_turns(np.cos, x),
    "fast_expf": _scaled(_fast_exp2, math.log2(math.e)),
    "fast_exp10f": _scaled(_fast_exp2, math.log2(10)),
    "fast_log2f": _fast_log2,
    "fast_logf": lambda x: _fast_log2(x) * _float32(math.log(2)),
    "fast_log10f": lambda x: _fast_log2(x) * _float32(math.log10(2)),
    "fast_powf": lambda x, y: _fast_exp2(_float32(y * _fast_log2(x))),
    "fast_tanhf": np.tanh,
    "fast_dividef": _fast_divide,
}
FUNCTIONS |= {
    "erfinv": _inverse_erf,
    "erfcinv": lambda x: _inverse_erf(1 - x),
    "logb": lambda x: np.floor(np.log2(np.abs(x))),
    "ilogb": lambda x: np.floor(np.log2(np.abs(x))),
    "norm3d": lambda x, y, z: np.sqrt(x * x + y * y + z * z),
    "popc": _ones,
    "clz": lambda x: np.subtract(32, _length(x)),
    "ffs": lambda x: _length(_bits(x) & -_bits(x)),
    "llrint": np.rint,
    "llround": FUNCTIONS["round"],
    "float_as_int": lambda x: x.astype(np.float32).view(np.int32),
    "int_as_float": lambda x: x.astype(np.int32).view(np.float32),
    **{f"float2int_{way}": find for way, find in zip(("rn", "rz", "rd", "ru"), _WAYS, strict=True)},
    **{f"int2float_{way}": np.asarray for way in ("rn", "rz", "rd", "ru")},
}
PREDICATES = {"isnan", "isinf", "signbit", "finitef", "isfinited"}
"""Functions that answer with an int32."""
RESULTS: dict[str, tl.dtype] = {
    **dict.fromkeys(PREDICATES, tl.int32),
    **dict.fromkeys(("ilogb", "popc", "clz", "ffs", "float_as_int"), tl.int32),
    **dict.fromkeys(("llrint", "llround"), tl.int64),
    **dict.fromkeys((f"float2int_{way}" for way in ("rn", "rz", "rd", "ru")), tl.int32),
    **dict.fromkeys(("int_as_float", *(f"int2float_{way}" for way in ("rn", "rz", "rd", "ru"))), tl.float32),
}
"""The types of results that are not of the arguments' type."""


def install() -> None:
    """Let interpreted kernels of this process call libdevice; for the runner only, before a candidate is loaded."""
    for module in (generic, cuda, hip):
        for name in {*vars(generic), *vars(module)}:
            if callable(getattr(module, name, None)) and not name.startswith("_"):
                setattr(module, name, _interpreted(name))


def _interpreted(name: str) -> Callable[..., tl.tensor]:
    def compute(*args: object) -> tl.tensor:
        if name not in FUNCTIONS:
            raise NotImplementedError(f"libdevice.{name} has no interpretation; it needs a GPU")
        given: list[Any] = [interpreter.interpreter_semantic.to_tensor(arg) for arg in args]
        with np.errstate(all="ignore"):
            values = FUNCTIONS[name](*(_wide(tensor.handle) for tensor in given))
        return _tensor(values, given, RESULTS[name] if name in RESULTS else given[0].dtype)

    def rows(_: object, args: Sequence[object]) -> list[TensorHandle]:
        given = [one if isinstance(one, TensorHandle) else _as_handle(one) for one in args]
        with np.errstate(all="ignore"):
            values = FUNCTIONS[name](*map(_wide, given))
        return [_handle(values, RESULTS.get(name, given[0].dtype.scalar))]

    computed = recorded.whole(f"libdevice.{name}", compute, lambda: rows if name in FUNCTIONS else None)

    def call(*args: object, _semantic: object = None) -> tl.tensor:
        return cast(tl.tensor, computed(*args))

    return call


def _wide(handle: TensorHandle) -> npt.NDArray[np.generic]:
    data = bfloat16.widen(handle).data
    return data.astype(np.float64) if data.dtype.kind == "f" else data


def _as_handle(value: object) -> TensorHandle:
    return interpreter.interpreter_semantic.to_tensor(value).handle  # type: ignore[attr-defined]


def _handle(values: npt.NDArray[np.generic], scalar: tl.dtype) -> TensorHandle:
    if scalar == tl.bfloat16:
        return bfloat16.narrow(TensorHandle(values.astype(np.float32), tl.float32))
    return TensorHandle(values.astype(interpreter._get_np_dtype(scalar)), scalar)


def _tensor(values: npt.NDArray[np.generic], given: list[Any], scalar: tl.dtype) -> tl.tensor:
    handle = _handle(values, scalar)
    block = any(tensor.type.is_block() for tensor in given)
    return tl.tensor(handle, tl.block_type(scalar, list(values.shape)) if block else scalar)
