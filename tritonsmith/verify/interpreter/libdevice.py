"""Values of libdevice's functions for Triton's interpreter, which cannot call the device library.

Covers the elementary functions that kernels use, in float64 and rounded once, which is within libdevice's own error
bounds (CUDA Math API). Those that are named fast are made of a GPU's approximations in float32, with their errors (CUDA
C++ Programming Guide, "Intrinsic Functions"; PTX ISA, "sin", "lg2", "ex2").

float32's subnormal numbers are flushed where the PTX that Triton makes of a function does so.

Does not cover arithmetic with directed rounding and Bessel functions of any order: a kernel that calls one of those is
told so. Whether a function takes the operands' types is the compile stage's business.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import triton.language as tl
from triton.language.extra import libdevice as generic
from triton.language.extra.cuda import libdevice as cuda
from triton.language.extra.hip import libdevice as hip
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from tritonsmith.verify.interpreter import bessel, bfloat16, recorded
from tritonsmith.verify.interpreter.approximations import flushed
from tritonsmith.verify.interpreter.conversions import saturated

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


def _multiplied(x: npt.NDArray[np.generic], y: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """The upper halves of products."""
    bits = np.asarray(x).dtype.itemsize * 8
    whole = np.vectorize(lambda one, other: int(one) * int(other) >> bits, otypes=[object])(x, y)
    return whole.astype(np.asarray(x).dtype)


def _of_24_bits(x: npt.NDArray[np.generic], y: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    low = [
        ((one & 0xFFFFFF) ^ 0x800000) - 0x800000 if x.dtype.kind == "i" else one & 0xFFFFFF
        for one in (x.astype(np.int64), y.astype(np.int64))
    ]
    return low[0] * low[1]


def _turned(x: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """Bits in the opposite order."""
    raw = np.ascontiguousarray(x)
    bytes_ = raw.reshape(-1, 1).view(np.uint8)
    bits = np.unpackbits(bytes_, axis=1, bitorder="little")[:, ::-1]
    return np.packbits(bits, axis=1, bitorder="little").view(raw.dtype).reshape(raw.shape)


def _picked(x: npt.NDArray[np.generic], y: npt.NDArray[np.generic], s: npt.NDArray[np.generic]) -> Any:  # noqa: ANN401
    """Bytes of two words, each by three bits of a third."""
    words = _bits(x).astype(np.uint64) | _bits(y).astype(np.uint64) << np.uint64(32)
    found = np.zeros(np.broadcast(words, s).shape, np.uint64)
    for place in range(4):
        at = _bits(s).astype(np.uint64) >> np.uint64(4 * place) & np.uint64(7)
        found |= (words >> np.uint64(8) * at & np.uint64(0xFF)) << np.uint64(8 * place)
    return found.astype(np.uint32).view(np.int32)


def _to(find: Callable[[Any], Any], kind: str, double: bool) -> Callable[[Array], npt.NDArray[Any]]:
    """A rounding to integers of a type, without a sign in the bits of those that have one."""
    signed = kind.removeprefix("u")
    return lambda x: saturated(find(x if double else flushed(x)), kind, double).view(signed)


def _toward(way: str) -> Callable[[npt.NDArray[np.generic]], npt.NDArray[np.float32]]:
    """The float32 on one side of what float64 holds."""

    def rounded(x: npt.NDArray[np.generic]) -> npt.NDArray[np.float32]:
        exact = np.asarray(x).astype(np.float64)
        near = exact.astype(np.float32)
        above, below = near > exact, near < exact
        down = {"rz": above & (exact > 0), "rd": above}.get(way, np.zeros_like(above))
        up = {"rz": below & (exact < 0), "ru": below}.get(way, np.zeros_like(above))
        found = np.where(down, np.nextafter(near, np.float32(-np.inf)), near)
        return np.where(up, np.nextafter(near, np.float32(np.inf)), found)

    return rounded


def _next(x: Array, y: Array) -> Array:
    """The float32 that follows."""
    return np.nextafter(x.astype(np.float32), y.astype(np.float32)).astype(np.float64)


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
    """Off by up to 2^-22, which float32 has not behind the point from 4 on."""
    return _float32(_to_bits(np.log2(flushed(x)), 21))


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
    "llrint": _to(np.rint, "int64", double=True),
    "llround": _to(FUNCTIONS["round"], "int64", double=True),
    "float_as_int": lambda x: x.astype(np.float32).view(np.int32),
    "int_as_float": lambda x: x.astype(np.int32).view(np.float32),
}
_WAYS: dict[str, np.ufunc] = dict(zip(("rn", "rz", "rd", "ru"), (np.rint, np.trunc, np.floor, np.ceil), strict=True))
_INTEGERS = {"int": "int32", "uint": "uint32", "ll": "int64", "ull": "uint64"}
_FROM_FLOATS = {
    f"{given}2{short}_{way}": (kind, way, given)
    for given in ("float", "double") for short, kind in _INTEGERS.items() for way in _WAYS
}  # fmt: skip
_TO_FLOATS = (
    *(f"{given}2float_{way}" for given in ("int", "uint", "double") for way in _WAYS),
    "ll2float_rn",
    "ull2float_rn",
)
_TO_DOUBLES = ("int2double_rn", "uint2double_rn", "ll2double_rn", "ull2double_rn")
FUNCTIONS |= {name: _to(_WAYS[way], kind, given == "double") for name, (kind, way, given) in _FROM_FLOATS.items()}
FUNCTIONS |= {name: np.asarray for name in (*_TO_FLOATS, *_TO_DOUBLES)}
FUNCTIONS |= {name: _toward(name[-2:]) for name in _TO_FLOATS if not name.endswith("_rn")}
FUNCTIONS |= {
    "nextafter": _next,
    "scalbn": lambda x, n: x * np.exp2(n),
    "norm4d": lambda x, y, z, w: np.sqrt(x * x + y * y + z * z + w * w),
    "rnorm3d": lambda x, y, z: 1 / np.sqrt(x * x + y * y + z * z),
    "rnorm4d": lambda x, y, z, w: 1 / np.sqrt(x * x + y * y + z * z + w * w),
    "normcdfinv": lambda x: bessel.quantile(x, _erfc),
    **{f"{kind}{order}": partial(getattr(bessel, kind), order) for kind in "jy" for order in (0, 1)},
    **{f"cyl_bessel_i{order}": partial(bessel.i, order) for order in (0, 1)},
    "mulhi": _multiplied,
    "mul24": _of_24_bits,
    "hadd": lambda x, y: (x.astype(np.int64) + y.astype(np.int64)) >> 1,
    "rhadd": lambda x, y: (x.astype(np.int64) + y.astype(np.int64) + 1) >> 1,
    "sad": lambda x, y, z: np.abs(x.astype(np.int64) - y.astype(np.int64)) + z.astype(np.int64),
    "brev": _turned,
    "byte_perm": _picked,
    "float_as_uint": FUNCTIONS["float_as_int"],
    "uint_as_float": lambda x: x.astype(np.uint32).view(np.float32),
    "double_as_longlong": lambda x: x.astype(np.float64).view(np.int64),
    "longlong_as_double": lambda x: x.astype(np.int64).view(np.float64),
}
PREDICATES = {"isnan", "isinf", "signbit", "finitef", "isfinited"}
"""Functions that answer with an int32."""
RESULTS: dict[str, tl.dtype] = {
    **dict.fromkeys(PREDICATES, tl.int32),
    **dict.fromkeys(("ilogb", "popc", "clz", "ffs", "float_as_int"), tl.int32),
    **dict.fromkeys(("llrint", "llround", "double_as_longlong"), tl.int64),
    **{name: tl.int64 if kind.endswith("64") else tl.int32 for name, (kind, *_) in _FROM_FLOATS.items()},
    **dict.fromkeys(("float_as_uint", "byte_perm"), tl.int32),
    **dict.fromkeys(("int_as_float", "uint_as_float", *_TO_FLOATS), tl.float32),
    **dict.fromkeys(("longlong_as_double", *_TO_DOUBLES), tl.float64),
}
"""The types of results that are not of the arguments' type."""
FLUSHING = {
    *("abs", "floor", "ceil", "sqrt", "rsqrt", "exp2", "erf", "tanh", "sin", "fma", "fast_dividef"),
    *(f"{name}_rn" for name in ("add", "sub", "mul", "div", "rcp", "sqrt", "rsqrt", "fma")),
}
"""Functions of float32 whose arguments and results are flushed, as PTX for `sm_90` says."""


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
            values = _values(name, [tensor.handle for tensor in given])
        return _tensor(values, given, RESULTS[name] if name in RESULTS else given[0].dtype)

    def rows(_: object, args: Sequence[object]) -> list[TensorHandle]:
        given = [one if isinstance(one, TensorHandle) else _as_handle(one) for one in args]
        with np.errstate(all="ignore"):
            values = _values(name, given)
        return [_handle(values, RESULTS.get(name, given[0].dtype.scalar))]

    computed = recorded.whole(f"libdevice.{name}", compute, lambda: rows if name in FUNCTIONS else None)

    def call(*args: object, _semantic: object = None) -> tl.tensor:
        return cast(tl.tensor, computed(*args))

    return call


def _values(name: str, given: Sequence[TensorHandle]) -> npt.NDArray[np.generic]:
    wide = list(map(_wide, given))
    if name == "nextafter" and given[0].dtype.scalar == tl.float64:
        return np.nextafter(*wide)
    if name not in FLUSHING or given[0].dtype.scalar != tl.float32:
        return FUNCTIONS[name](*wide)
    return flushed(FUNCTIONS[name](*map(flushed, wide)))


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
