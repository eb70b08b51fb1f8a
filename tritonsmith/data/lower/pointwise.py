"""Operators on single elements, as expressions of triton.language over values in float32.

`{self}`, `{other}`, ... stand for the arguments by torch's names: names of values, or numbers. Functions are written
with what triton.language has, and with libdevice's where only those keep their digits near zero (tanh, expm1, log1p).
"""

from collections.abc import Callable, Mapping

from tritonsmith.data.lower.trace import Op, Untraceable

_INVERSE_SQRT2 = "0.7071067811865476"

EXPRESSIONS: dict[str, str] = {
    "relu": "tl.maximum({self}, 0.0)",
    "relu6": "tl.minimum(tl.maximum({self}, 0.0), 6.0)",
    "sigmoid": "tl.sigmoid({self})",
    "tanh": "libdevice.tanh({self})",
    "silu": "{self} * tl.sigmoid({self})",
    "softsign": "{self} / (1.0 + tl.abs({self}))",
    "hardswish": "{self} * tl.minimum(tl.maximum({self} + 3.0, 0.0), 6.0) / 6.0",
    "hardsigmoid": "tl.minimum(tl.maximum({self} + 3.0, 0.0), 6.0) / 6.0",
    "hardtanh": "tl.minimum(tl.maximum({self}, {min_val}), {max_val})",
    "log_sigmoid": "tl.minimum({self}, 0.0) - tl.log(1.0 + tl.exp(-tl.abs({self})))",
    # tanh(log(1 + e^x)) = 1 - 2 / (1 + (1 + e^x)^2); an infinite e^x gives x, as it should
    "mish": "{self} * (1.0 - 2.0 / (1.0 + (1.0 + tl.exp({self})) * (1.0 + tl.exp({self}))))",
    "elu": "tl.where({self} > 0.0, {self}, {alpha} * libdevice.expm1({self}))",
    "celu": "tl.where({self} > 0.0, {self}, {alpha} * libdevice.expm1({self} / {alpha}))",
    "selu": ("1.0507009873554805 * tl.where({self} > 0.0, {self}, 1.6732632423543772 * libdevice.expm1({self}))"),
    "leaky_relu": "tl.where({self} > 0.0, {self}, {self} * {negative_slope})",
    "prelu": "tl.where({self} > 0.0, {self}, {self} * {weight})",
    "softshrink": "tl.maximum({self} - {lambd}, 0.0) + tl.minimum({self} + {lambd}, 0.0)",
    "hardshrink": "tl.where(tl.abs({self}) > {lambd}, {self}, 0.0)",
    "threshold": "tl.where({self} > {threshold}, {self}, {value})",
    "abs": "tl.abs({self})",
    "neg": "-{self}",
    "square": "{self} * {self}",
    "sin": "tl.sin({self})",
    "cos": "tl.cos({self})",
    "exp": "tl.exp({self})",
    "exp2": "tl.exp2({self})",
    "expm1": "libdevice.expm1({self})",
    "log": "tl.log({self})",
    "log2": "tl.log2({self})",
    "log1p": "libdevice.log1p({self})",
    "log10": "tl.log({self}) * 0.4342944819032518",
    "sqrt": "tl.sqrt({self})",
    "rsqrt": "tl.rsqrt({self})",
    "reciprocal": "1.0 / {self}",
    "erf": "tl.math.erf({self})",
    "sinh": "(tl.exp({self}) - tl.exp(-{self})) / 2.0",
    "cosh": "(tl.exp({self}) + tl.exp(-{self})) / 2.0",
    "atan": "libdevice.atan({self})",
    "asin": "libdevice.asin({self})",
    "acos": "libdevice.acos({self})",
    "asinh": "libdevice.asinh({self})",
    "acosh": "libdevice.acosh({self})",
    "atanh": "libdevice.atanh({self})",
    "atan2": "libdevice.atan2({self}, {other})",
    "tan": "libdevice.tan({self})",
    "erfc": "libdevice.erfc({self})",
    "trunc": "libdevice.trunc({self})",
    "round": "libdevice.rint({self})",  # halves to even, as torch has it
    "fmod": "libdevice.fmod({self}, {other})",
    "hypot": "libdevice.hypot({self}, {other})",
    "floor": "tl.floor({self})",
    "ceil": "tl.ceil({self})",
    "sign": "tl.where({self} > 0.0, 1.0, tl.where({self} < 0.0, -1.0, 0.0))",
    "mul": "{self} * {other}",
    "div": "{self} / {other}",
    "maximum": "tl.maximum({self}, {other})",
    "minimum": "tl.minimum({self}, {other})",
    "max": "tl.maximum({self}, {other})",
    "min": "tl.minimum({self}, {other})",
    "clamp_min": "tl.maximum({self}, {min})",
    "clamp_max": "tl.minimum({self}, {max})",
    "gt": "{self} > {other}",
    "ge": "{self} >= {other}",
    "lt": "{self} < {other}",
    "le": "{self} <= {other}",
    "eq": "{self} == {other}",
    "ne": "{self} != {other}",
    "logical_and": "({self} != 0) & ({other} != 0)",
    "logical_or": "({self} != 0) | ({other} != 0)",
    "bitwise_and": "{self} & {other}",
    "bitwise_or": "{self} | {other}",
    "logical_not": "{self} == 0",
    "bitwise_not": "{self} == 0",
    "where": "tl.where({condition} != 0, {self}, {other})",
    "masked_fill": "tl.where({mask} != 0, {value}, {self})",
    "lerp": "{self} + {weight} * ({end} - {self})",
    "addcmul": "{self} + {value} * {tensor1} * {tensor2}",
    "addcdiv": "{self} + {value} * {tensor1} / {tensor2}",
    "copy": "{self}",
    "smooth_l1": ("tl.where(tl.abs({self}) < {beta}, 0.5 * {self} * {self} / {beta}, tl.abs({self}) - 0.5 * {beta})"),
    "huber": "tl.where(tl.abs({self}) <= {delta}, 0.5 * {self} * {self}, {delta} * (tl.abs({self}) - 0.5 * {delta}))",
    "bce_logits": "tl.maximum({self}, 0.0) - {self} * {target} + tl.log(1.0 + tl.exp(-tl.abs({self})))",
    "bce_logits_weighted": (
        "(1.0 - {target}) * {self} + (1.0 + ({pos_weight} - 1.0) * {target})"
        " * (tl.log(1.0 + tl.exp(-tl.abs({self}))) + tl.maximum(-{self}, 0.0))"
    ),
    # torch clamps each logarithm at -100
    "bce": (
        "-({target} * tl.maximum(tl.log({self}), -100.0) + (1.0 - {target}) * tl.maximum(tl.log(1.0 - {self}), -100.0))"
    ),
    "soft_margin": "tl.maximum(-{target} * {self}, 0.0) + tl.log(1.0 + tl.exp(-tl.abs({target} * {self})))",
    "kl": "tl.where({target} > 0.0, {target} * (tl.log({target}) - {self}), 0.0)",
    "kl_log": "tl.exp({target}) * ({target} - {self})",
    "poisson": "{self} - {target} * tl.log({self} + {eps})",
    "poisson_log": "tl.exp({self}) - {target} * {self}",
    "hinge_embedding": "tl.where({target} > 0, {self}, tl.maximum({margin} - {self}, 0.0))",
    "ranking": "tl.maximum(-{target} * {self} + {margin}, 0.0)",
    "cosine_embedding": "tl.where({target} > 0, 1.0 - {self}, tl.maximum({self} - {margin}, 0.0))",
    "as_float": "{self}.to(tl.float32)",
    "as_int": "{self}.to(tl.int64)",
    # these two are written where the coordinates are known: see site
    "full": "{fill_value}",
    "index": "{dim}",
}


def _add(a: Mapping[str, str]) -> str:
    return f"{a['self']} + {a['other']}" if a["alpha"] == "1" else f"{a['self']} + {a['alpha']} * {a['other']}"


def _sub(a: Mapping[str, str]) -> str:
    return f"{a['self']} - {a['other']}" if a["alpha"] == "1" else f"{a['self']} - {a['alpha']} * {a['other']}"


def _rsub(a: Mapping[str, str]) -> str:
    return f"{a['other']} - {a['self']}" if a["alpha"] == "1" else f"{a['other']} - {a['alpha']} * {a['self']}"


def _clamp(a: Mapping[str, str]) -> str:
    inner = a["self"] if a["min"] == "None" else f"tl.maximum({a['self']}, {a['min']})"
    return inner if a["max"] == "None" else f"tl.minimum({inner}, {a['max']})"


def _gelu(a: Mapping[str, str]) -> str:
    x = a["self"]
    if a["approximate"] == "'tanh'":
        # tanh(u) = 2 sigmoid(2u) - 1 in gelu's tanh form, u = sqrt(2 / pi) (x + 0.044715 x^3)
        return f"{x} * tl.sigmoid(1.5957691216057308 * ({x} + 0.044715 * {x} * {x} * {x}))"
    return f"{x} * (1.0 + tl.math.erf({x} * {_INVERSE_SQRT2})) / 2.0"


def _softplus(a: Mapping[str, str]) -> str:
    x = a["self"]
    if a["beta"] in ("1", "1.0") and a["threshold"] in ("20", "20.0"):
        return f"tl.maximum({x}, 0.0) + tl.log(1.0 + tl.exp(-tl.abs({x})))"
    soft = f"tl.log(1.0 + tl.exp(tl.minimum({x} * {a['beta']}, {a['threshold']}))) / {a['beta']}"
    return f"tl.where({x} * {a['beta']} > {a['threshold']}, {x}, {soft})"


def _pow(a: Mapping[str, str]) -> str:
    x, exponent = a["self"], a["exponent"]
    known = {
        "2": f"{x} * {x}",
        "3": f"{x} * {x} * {x}",
        "4": f"{x} * {x} * {x} * {x}",
        "0.5": f"tl.sqrt({x})",
        "-0.5": f"tl.rsqrt({x})",
        "1": x,
        "-1": f"1.0 / {x}",
    }
    key = exponent.strip("()").removesuffix(".0")
    return known.get(key, f"tl.exp({exponent} * tl.log({x}))")


WRITERS: dict[str, Callable[[Mapping[str, str]], str]] = {
    "add": _add,
    "sub": _sub,
    "rsub": _rsub,
    "clamp": _clamp,
    "gelu": _gelu,
    "softplus": _softplus,
    "pow": _pow,
}


def is_pointwise(op: Op) -> bool:
    """Whether the operator works element by element; max and min do only with two tensors."""
    if op.name in ("max", "min"):
        return "other" in op.args
    if op.name == "div" and op.args.get("rounding_mode") is not None:
        return False
    if op.name == "round" and op.args.get("decimals"):
        return False
    if op.name == "pow" and not isinstance(op.args.get("exponent"), (int, float)):
        return False
    return op.name in EXPRESSIONS or op.name in WRITERS


def write(op: Op, arguments: Mapping[str, str]) -> str:
    """The operator over its arguments' names and numbers. Raises Untraceable for one that is not known."""
    if op.name in WRITERS:
        return WRITERS[op.name](arguments)
    if op.name in EXPRESSIONS:
        return EXPRESSIONS[op.name].format(**arguments)
    raise Untraceable(f"no way to write {op.name}")
