"""The operators that synthetic tasks are made of: names, constants, and how people spell them in PyTorch.

Does not know how to write them in Triton: that is `data.templates`.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["pointwise", "binary", "row", "reduce", "gemm"]


@dataclass(frozen=True)
class Operator:
    """One operator; its spellings are PyTorch expressions that all mean the same.

    In a spelling `{x}` is the value so far, `{a}` and `{b}` the constants, `{y}` the further input.
    """

    name: str
    kind: Kind
    spellings: tuple[str, ...]
    module: str | None = None
    """The `nn` module that does the same, as written in `__init__`, where there is one."""
    constants: tuple[tuple[float, ...], ...] = ()
    """For each constant, the values it is drawn from."""
    member: str | None = None
    """Name of the member that a spelling refers to as `self.<member>`; it holds parameters."""
    positive: bool = False
    """Defined, and well conditioned, for clearly positive values only."""


def _steps(low: int, high: int) -> tuple[float, ...]:
    """Multiples of 0.05 from low/20 to high/20 that are no whole numbers."""
    return tuple(round(k / 20, 2) for k in range(low, high + 1) if k % 20)


_WIDE = _steps(2, 50)
_LOW = _steps(-36, -6)
_HIGH = _steps(6, 36)
_SLOPE = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)


def _activation(name: str, module: str, *spellings: str) -> Operator:
    return Operator(name, "pointwise", spellings, module=module)


def _scalar(name: str, *spellings: str, values: tuple[float, ...] = _WIDE) -> Operator:
    return Operator(name, "pointwise", spellings, constants=(values,))


_ACTIVATIONS = (
    _activation("relu", "nn.ReLU()", "torch.relu({x})", "F.relu({x})", "{x}.relu()"),
    _activation("sigmoid", "nn.Sigmoid()", "torch.sigmoid({x})", "F.sigmoid({x})", "{x}.sigmoid()"),
    _activation("tanh", "nn.Tanh()", "torch.tanh({x})", "F.tanh({x})", "{x}.tanh()"),
    _activation("silu", "nn.SiLU()", "F.silu({x})", "{x} * torch.sigmoid({x})"),
    _activation("gelu", "nn.GELU()", "F.gelu({x})"),
    _activation("gelu_tanh", 'nn.GELU(approximate="tanh")', 'F.gelu({x}, approximate="tanh")'),
    _activation("softplus", "nn.Softplus()", "F.softplus({x})"),
    _activation("elu", "nn.ELU()", "F.elu({x})"),
    _activation("selu", "nn.SELU()", "F.selu({x})", "torch.selu({x})"),
    _activation("mish", "nn.Mish()", "F.mish({x})", "{x} * torch.tanh(F.softplus({x}))"),
    _activation("softsign", "nn.Softsign()", "F.softsign({x})", "{x} / (1.0 + torch.abs({x}))"),
    _activation("hardswish", "nn.Hardswish()", "F.hardswish({x})"),
    _activation("hardsigmoid", "nn.Hardsigmoid()", "F.hardsigmoid({x})"),
    _activation("logsigmoid", "nn.LogSigmoid()", "F.logsigmoid({x})"),
    _activation("tanhshrink", "nn.Tanhshrink()", "F.tanhshrink({x})", "{x} - torch.tanh({x})"),
)

_FUNCTIONS = (
    Operator("abs", "pointwise", ("torch.abs({x})", "{x}.abs()")),
    Operator("neg", "pointwise", ("torch.neg({x})", "-{x}")),
    Operator("square", "pointwise", ("torch.square({x})", "{x} * {x}", "{x}.pow(2)")),
    Operator("sin", "pointwise", ("torch.sin({x})", "{x}.sin()")),
    Operator("cos", "pointwise", ("torch.cos({x})", "{x}.cos()")),
    Operator("exp", "pointwise", ("torch.exp({x})", "{x}.exp()")),
    Operator("log", "pointwise", ("torch.log({x})", "{x}.log()"), positive=True),
    Operator("sqrt", "pointwise", ("torch.sqrt({x})", "{x}.sqrt()"), positive=True),
    Operator("rsqrt", "pointwise", ("torch.rsqrt({x})", "1.0 / torch.sqrt({x})"), positive=True),
    Operator("reciprocal", "pointwise", ("torch.reciprocal({x})", "1.0 / {x}"), positive=True),
)

_SCALARS = (
    _scalar("add", "{x} + {a}", "{a} + {x}", "torch.add({x}, {a})"),
    _scalar("sub", "{x} - {a}", "torch.sub({x}, {a})"),
    _scalar("rsub", "{a} - {x}", "torch.rsub({x}, {a})"),
    _scalar("mul", "{x} * {a}", "{a} * {x}", "torch.mul({x}, {a})"),
    _scalar("div", "{x} / {a}", "torch.div({x}, {a})"),
    _scalar("max", "torch.clamp({x}, min={a})", "{x}.clamp(min={a})", "{x}.clamp_min({a})", values=_LOW),
    _scalar("min", "torch.clamp({x}, max={a})", "{x}.clamp(max={a})", "{x}.clamp_max({a})", values=_HIGH),
    Operator(
        "leaky_relu",
        "pointwise",
        ("F.leaky_relu({x}, {a})", "F.leaky_relu({x}, negative_slope={a})"),
        module="nn.LeakyReLU({a})",
        constants=(_SLOPE,),
    ),
    Operator(
        "softshrink",
        "pointwise",
        ("F.softshrink({x}, {a})",),
        module="nn.Softshrink({a})",
        constants=(_steps(2, 16),),
    ),
    Operator(
        "clamp",
        "pointwise",
        ("torch.clamp({x}, {a}, {b})", "{x}.clamp({a}, {b})", "F.hardtanh({x}, {a}, {b})"),
        module="nn.Hardtanh({a}, {b})",
        constants=(_LOW, _HIGH),
    ),
)

_BINARY = (
    Operator("add", "binary", ("{x} + {y}", "torch.add({x}, {y})")),
    Operator("sub", "binary", ("{x} - {y}", "torch.sub({x}, {y})")),
    Operator("mul", "binary", ("{x} * {y}", "torch.mul({x}, {y})")),
    Operator("max", "binary", ("torch.maximum({x}, {y})", "torch.max({x}, {y})")),
    Operator("min", "binary", ("torch.minimum({x}, {y})", "torch.min({x}, {y})")),
)

_ROW = (
    Operator(
        "softmax",
        "row",
        ("torch.softmax({x}, dim=-1)", "F.softmax({x}, dim=-1)", "F.softmax({x}, dim=1)", "{x}.softmax(dim=-1)"),
        module="nn.Softmax(dim=-1)",
    ),
    Operator(
        "log_softmax",
        "row",
        ("torch.log_softmax({x}, dim=-1)", "F.log_softmax({x}, dim=-1)", "F.log_softmax({x}, dim=1)"),
        module="nn.LogSoftmax(dim=-1)",
    ),
    Operator("layernorm", "row", ("F.layer_norm({x}, {x}.shape[-1:])", "F.layer_norm({x}, ({x}.shape[-1],))")),
    Operator("affine_layernorm", "row", ("self.norm({x})",), member="norm"),
    Operator(
        "rmsnorm",
        "row",
        (
            "{x} * torch.rsqrt({x}.pow(2).mean(dim=-1, keepdim=True) + 1e-6)",
            "{x} / torch.sqrt(torch.mean({x} * {x}, dim=-1, keepdim=True) + 1e-6)",
            "F.rms_norm({x}, {x}.shape[-1:], eps=1e-6)",
        ),
    ),
    Operator("l2norm", "row", ("F.normalize({x}, dim=-1)", "F.normalize({x}, p=2, dim=1)")),
    Operator(
        "center",
        "row",
        ("{x} - {x}.mean(dim=-1, keepdim=True)", "{x} - torch.mean({x}, dim=1, keepdim=True)"),
    ),
    Operator("row_sum", "reduce", ("torch.sum({x}, dim=-1)", "{x}.sum(dim=-1)", "torch.sum({x}, dim=1)")),
    Operator("row_mean", "reduce", ("torch.mean({x}, dim=-1)", "{x}.mean(dim=-1)", "torch.mean({x}, dim=1)")),
    Operator("row_max", "reduce", ("torch.amax({x}, dim=-1)", "{x}.amax(dim=-1)", "torch.max({x}, dim=1).values")),
    Operator("row_min", "reduce", ("torch.amin({x}, dim=-1)", "{x}.amin(dim=-1)", "torch.min({x}, dim=1).values")),
    Operator("logsumexp", "reduce", ("torch.logsumexp({x}, dim=-1)", "torch.logsumexp({x}, dim=1)")),
    Operator("row_norm", "reduce", ("torch.linalg.vector_norm({x}, dim=-1)", "torch.norm({x}, dim=-1)")),
)

_GEMM = (
    Operator("linear", "gemm", ("self.linear({x})",), member="linear"),
    Operator("linear_nobias", "gemm", ("self.linear({x})",), member="linear"),
    Operator("matmul", "gemm", ("torch.matmul({x}, self.weight)", "{x} @ self.weight"), member="weight"),
)

POINTWISE = _ACTIVATIONS + _FUNCTIONS + _SCALARS
BINARY = _BINARY
ROW = _ROW
GEMM = _GEMM

MEMBERS = {
    "affine_layernorm": "nn.LayerNorm({dim})",
    "linear": "nn.Linear({in_features}, {out_features})",
    "linear_nobias": "nn.Linear({in_features}, {out_features}, bias=False)",
    "matmul": "nn.Parameter(torch.randn({in_features}, {out_features}) / {in_features} ** 0.5)",
}
"""How the members that hold parameters are made; the names in braces are constructor arguments."""


def find(name: str, *, binary: bool = False) -> Operator:
    """The operator of that name; `binary` tells `add y` from `add 0.5`. Raises KeyError."""
    pool = BINARY if binary else POINTWISE + ROW + GEMM
    for operator in pool:
        if operator.name == name:
            return operator
    raise KeyError(name)
