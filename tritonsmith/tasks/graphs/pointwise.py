"""Operators on each element: activations, functions, arithmetic with constants and with other values, selections."""

from tritonsmith.tasks.graphs.operator import Choice, Operator, broadcast, same, steps

FAMILY = "pointwise"
_WIDE = (*steps(2, 60), 0.5, 1.5, 2.0, 3.0, 4.0)
_LOW, _HIGH = (*steps(-40, -4), -0.5, -1.0), (*steps(4, 40), 0.5, 1.0)
_SLOPE = (0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
_THRESHOLD = steps(-16, 16)


def _activation(name: str, module: str, *spellings: str, weight: float = 1.0) -> Operator:
    return Operator(name, FAMILY, spellings, same, modules=(module,), weight=weight)


def _function(name: str, *spellings: str, weight: float = 0.6, positive: bool = False) -> Operator:
    return Operator(name, FAMILY, spellings, same, weight=weight, positive=positive)


def _constant(
    name: str, *spellings: str, values: Choice = _WIDE, weight: float = 1.0, positive: bool = False
) -> Operator:
    return Operator(name, FAMILY, spellings, same, attributes={"c": values}, weight=weight, positive=positive)


def _binary(
    name: str, *spellings: str, weight: float = 1.0, commutative: bool = False, positive: bool = False
) -> Operator:
    return Operator(
        name,
        FAMILY,
        spellings,
        broadcast,
        further=("value",),
        commutative=commutative,
        positive=positive,
        weight=weight,
    )


ACTIVATIONS = (
    _activation("relu", "nn.ReLU()", "torch.relu({x})", "F.relu({x})", "{x}.relu()", weight=4.0),
    _activation("sigmoid", "nn.Sigmoid()", "torch.sigmoid({x})", "F.sigmoid({x})", "{x}.sigmoid()", weight=3.0),
    _activation("tanh", "nn.Tanh()", "torch.tanh({x})", "F.tanh({x})", "{x}.tanh()", weight=3.0),
    _activation("silu", "nn.SiLU()", "F.silu({x})", "{x} * torch.sigmoid({x})", "torch.sigmoid({x}) * {x}", weight=2.5),
    _activation("gelu", "nn.GELU()", "F.gelu({x})", "torch.nn.functional.gelu({x})", weight=3.0),
    _activation("gelu_tanh", 'nn.GELU(approximate="tanh")', 'F.gelu({x}, approximate="tanh")'),
    _activation("softplus", "nn.Softplus()", "F.softplus({x})", weight=1.5),
    _activation("selu", "nn.SELU()", "F.selu({x})", "torch.selu({x})"),
    _activation("mish", "nn.Mish()", "F.mish({x})", "{x} * torch.tanh(F.softplus({x}))", weight=2.5),
    _activation(
        "softsign", "nn.Softsign()", "F.softsign({x})", "{x} / (1.0 + torch.abs({x}))", "{x} / (1 + {x}.abs())"
    ),
    _activation(
        "hardswish", "nn.Hardswish()", "F.hardswish({x})", "{x} * torch.clamp(({x} + 3) / 6, 0, 1)", weight=1.5
    ),
    _activation("hardsigmoid", "nn.Hardsigmoid()", "F.hardsigmoid({x})"),
    _activation("logsigmoid", "nn.LogSigmoid()", "F.logsigmoid({x})", "-F.softplus(-{x})"),
    _activation("tanhshrink", "nn.Tanhshrink()", "F.tanhshrink({x})", "{x} - torch.tanh({x})"),
    _activation("relu6", "nn.ReLU6()", "F.relu6({x})", "{x}.clamp(0, 6)"),
    _activation("elu", "nn.ELU()", "F.elu({x})", weight=1.5),
    Operator(
        "elu_alpha",
        FAMILY,
        ("F.elu({x}, alpha={alpha})", "F.elu({x}, {alpha})"),
        same,
        modules=("nn.ELU({alpha})", "nn.ELU(alpha={alpha})"),
        attributes={"alpha": (0.5, 0.8, 1.2, 1.5, 2.0)},
        weight=0.5,
    ),
    Operator(
        "celu",
        FAMILY,
        ("F.celu({x}, alpha={alpha})",),
        same,
        modules=("nn.CELU({alpha})", "nn.CELU(alpha={alpha})"),
        attributes={"alpha": (0.5, 0.75, 1.25, 1.5, 2.0)},
        weight=0.5,
    ),
    Operator(
        "leaky_relu",
        FAMILY,
        ("F.leaky_relu({x}, {c})", "F.leaky_relu({x}, negative_slope={c})", "torch.where({x} > 0, {x}, {x} * {c})"),
        same,
        modules=("nn.LeakyReLU({c})", "nn.LeakyReLU(negative_slope={c})"),
        attributes={"c": _SLOPE},
        weight=2.5,
    ),
    Operator(
        "softshrink",
        FAMILY,
        ("F.softshrink({x}, {c})",),
        same,
        modules=("nn.Softshrink({c})",),
        attributes={"c": steps(2, 16)},
        weight=0.5,
    ),
    Operator(
        "softplus_beta",
        FAMILY,
        ("F.softplus({x}, beta={c})",),
        same,
        modules=("nn.Softplus(beta={c})",),
        attributes={"c": (0.5, 1.5, 2.0, 3.0)},
        weight=0.4,
    ),
    Operator(
        "clamp",
        FAMILY,
        (
            "torch.clamp({x}, {low}, {high})",
            "{x}.clamp({low}, {high})",
            "F.hardtanh({x}, {low}, {high})",
            "torch.clamp({x}, min={low}, max={high})",
        ),
        same,
        modules=("nn.Hardtanh({low}, {high})", "nn.Hardtanh(min_val={low}, max_val={high})"),
        attributes={"low": _LOW, "high": _HIGH},
        weight=2.5,
    ),
)

FUNCTIONS = (
    _function("abs", "torch.abs({x})", "{x}.abs()"),
    _function("neg", "torch.neg({x})", "-{x}"),
    _function("square", "torch.square({x})", "{x} * {x}", "{x}.pow(2)", "{x} ** 2", weight=1.0),
    _function("cube", "torch.pow({x}, 3)", "{x} ** 3", "{x} * {x} * {x}", weight=0.3),
    _function("sin", "torch.sin({x})", "{x}.sin()"),
    _function("cos", "torch.cos({x})", "{x}.cos()"),
    _function("exp", "torch.exp({x})", "{x}.exp()", weight=0.8),
    _function("expm1", "torch.expm1({x})", weight=0.2),
    _function("exp2", "torch.exp2({x})", weight=0.2),
    _function("erf", "torch.erf({x})", weight=0.3),
    _function("atan", "torch.atan({x})", weight=0.2),
    _function("log", "torch.log({x})", "{x}.log()", positive=True),
    _function("log1p", "torch.log1p({x})", weight=0.3, positive=True),
    _function("sqrt", "torch.sqrt({x})", "{x}.sqrt()", positive=True),
    _function("rsqrt", "torch.rsqrt({x})", "1.0 / torch.sqrt({x})", "{x}.rsqrt()", positive=True),
    _function("reciprocal", "torch.reciprocal({x})", "1.0 / {x}", "1 / {x}", positive=True),
    Operator("sign", FAMILY, ("torch.sign({x})", "{x}.sign()"), same, weight=0.1, exact=True),
    Operator("floor", FAMILY, ("torch.floor({x})", "{x}.floor()"), same, weight=0.1, exact=True),
    Operator("round", FAMILY, ("torch.round({x})", "{x}.round()"), same, weight=0.05, exact=True),
)

CONSTANTS = (
    _constant("add_scalar", "{x} + {c}", "{c} + {x}", "torch.add({x}, {c})", weight=3.0),
    _constant("sub_scalar", "{x} - {c}", "torch.sub({x}, {c})", weight=2.0),
    _constant("rsub_scalar", "{c} - {x}"),
    _constant("mul_scalar", "{x} * {c}", "{c} * {x}", "torch.mul({x}, {c})", weight=5.0),
    _constant("div_scalar", "{x} / {c}", "torch.div({x}, {c})", weight=2.5),
    _constant("clamp_min", "torch.clamp({x}, min={c})", "{x}.clamp(min={c})", "{x}.clamp_min({c})", values=_LOW),
    _constant("clamp_max", "torch.clamp({x}, max={c})", "{x}.clamp(max={c})", "{x}.clamp_max({c})", values=_HIGH),
    _constant("pow_scalar", "torch.pow({x}, {c})", "{x} ** {c}", values=(0.5, 1.5, 2.5), weight=0.2, positive=True),
    Operator(
        "threshold",
        FAMILY,
        ("F.threshold({x}, {threshold}, {value})", "torch.where({x} > {threshold}, {x}, {value})"),
        same,
        modules=("nn.Threshold({threshold}, {value})",),
        attributes={"threshold": _THRESHOLD, "value": (0.0, *steps(-10, 10))},
        weight=0.3,
        exact=True,
    ),
    Operator(
        "where_scalar",
        FAMILY,
        ("torch.where({x} > {threshold}, {x} * {c}, {x})", "torch.where({x} <= {threshold}, {x}, {x} * {c})"),
        same,
        attributes={"threshold": _THRESHOLD, "c": _WIDE},
        weight=0.3,
        exact=True,
    ),
    Operator(
        "compare_scalar",
        FAMILY,
        ("({x} > {threshold}).float()", "({x} > {threshold}).to(torch.float32)", "torch.gt({x}, {threshold}).float()"),
        same,
        attributes={"threshold": _THRESHOLD},
        weight=0.15,
        exact=True,
        last=True,
        followed="compare_scalar",
    ),
)

BINARY = (
    _binary("add", "{x} + {y}", "torch.add({x}, {y})", weight=6.0, commutative=True),
    _binary("sub", "{x} - {y}", "torch.sub({x}, {y})", weight=2.0),
    _binary("mul", "{x} * {y}", "torch.mul({x}, {y})", weight=4.0, commutative=True),
    _binary("div", "{x} / {y}", "torch.div({x}, {y})", weight=0.7, positive=True),
    _binary("maximum", "torch.maximum({x}, {y})", "torch.max({x}, {y})", commutative=True, weight=0.7),
    _binary("minimum", "torch.minimum({x}, {y})", "torch.min({x}, {y})", commutative=True, weight=0.7),
    _binary("squared_difference", "({x} - {y}) ** 2", "torch.square({x} - {y})", "({x} - {y}).pow(2)", weight=0.4),
    Operator(
        "compare",
        FAMILY,
        ("({x} > {y}).float()", "torch.gt({x}, {y}).float()", "({y} < {x}).float()"),
        broadcast,
        further=("value",),
        weight=0.1,
        exact=True,
        last=True,
        followed="compare",
    ),
    Operator(
        "masked_fill",
        FAMILY,
        ("{x}.masked_fill({y}, {c})", "torch.masked_fill({x}, {y}, {c})", "torch.where({y}, {c}, {x})"),
        broadcast,
        further=("mask",),
        attributes={"c": (0.0, 0.0, -1.0, *steps(-20, 20))},
        weight=0.6,
    ),
    Operator(
        "select",
        FAMILY,
        ("torch.where({y}, {x}, {z})",),
        broadcast,
        further=("mask", "value"),
        weight=0.6,
    ),
    Operator(
        "lerp",
        FAMILY,
        ("torch.lerp({x}, {y}, {c})", "{x} + {c} * ({y} - {x})"),
        broadcast,
        further=("value",),
        attributes={"c": steps(2, 18)},
        weight=0.3,
    ),
    Operator(
        "prelu",
        FAMILY,
        ("torch.where({x} > 0, {x}, {y} * {x})", "torch.clamp({x}, min=0) + {y} * torch.clamp({x}, max=0)"),
        broadcast,
        further=("parameter",),
        weight=0.3,
    ),
    Operator("gate", FAMILY, ("{x} * torch.sigmoid({y})", "torch.sigmoid({y}) * {x}"), broadcast, further=("value",)),
    Operator(
        "addcmul",
        FAMILY,
        ("torch.addcmul({x}, {y}, {z})", "{x} + {y} * {z}"),
        broadcast,
        further=("value", "value"),
        weight=0.2,
    ),
)

TABLE = ACTIVATIONS + FUNCTIONS + CONSTANTS + BINARY
