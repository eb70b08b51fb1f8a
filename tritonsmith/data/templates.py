"""Idiomatic Triton for a synthetic task: one kernel template a family, one line an operator.

The kernels are plain on purpose (no autotuning, no persistent loops): they are what a small model first
learns to write, and what reinforcement learning starts from. float32 only.
"""

from dataclasses import dataclass

from tritonsmith.tasks.graph import Graph, Step
from tritonsmith.types import Task


@dataclass(frozen=True)
class Pair:
    """An answer to a task: the reasoning in a sentence, and the candidate's source."""

    plan: str
    source: str


_LINES: dict[str, str] = {
    "relu": "x = tl.maximum(x, 0.0)",
    "sigmoid": "x = tl.sigmoid(x)",
    "tanh": "x = 2.0 * tl.sigmoid(2.0 * x) - 1.0",
    "silu": "x = x * tl.sigmoid(x)",
    "gelu": "x = x * (1.0 + tl.math.erf(x * 0.7071067811865476)) / 2.0",
    # tanh(u) = 2 sigmoid(2u) - 1 in gelu's tanh form, u = sqrt(2 / pi) (x + 0.044715 x^3)
    "gelu_tanh": "x = x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))",
    "softplus": "x = tl.maximum(x, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(x)))",
    "elu": "x = tl.where(x > 0.0, x, tl.exp(tl.minimum(x, 0.0)) - 1.0)",
    "selu": ("x = 1.0507009873554805 * tl.where(x > 0.0, x, 1.6732632423543772 * (tl.exp(tl.minimum(x, 0.0)) - 1.0))"),
    # tanh(log(1 + e^x)) = 1 - 2 / (1 + (1 + e^x)^2); an infinite e^x gives x, as it should
    "mish": "x = x * (1.0 - 2.0 / (1.0 + (1.0 + tl.exp(x)) * (1.0 + tl.exp(x))))",
    "softsign": "x = x / (1.0 + tl.abs(x))",
    "hardswish": "x = x * tl.minimum(tl.maximum(x + 3.0, 0.0), 6.0) / 6.0",
    "hardsigmoid": "x = tl.minimum(tl.maximum(x + 3.0, 0.0), 6.0) / 6.0",
    "logsigmoid": "x = tl.minimum(x, 0.0) - tl.log(1.0 + tl.exp(-tl.abs(x)))",
    "tanhshrink": "x = x - (2.0 * tl.sigmoid(2.0 * x) - 1.0)",
    "abs": "x = tl.abs(x)",
    "neg": "x = -x",
    "square": "x = x * x",
    "sin": "x = tl.sin(x)",
    "cos": "x = tl.cos(x)",
    "exp": "x = tl.exp(x)",
    "log": "x = tl.log(x)",
    "sqrt": "x = tl.sqrt(x)",
    "rsqrt": "x = tl.rsqrt(x)",
    "reciprocal": "x = 1.0 / x",
    "add": "x = x + {a}",
    "sub": "x = x - {a}",
    "rsub": "x = {a} - x",
    "mul": "x = x * {a}",
    "div": "x = x / {a}",
    "max": "x = tl.maximum(x, {a})",
    "min": "x = tl.minimum(x, {a})",
    "leaky_relu": "x = tl.where(x > 0.0, x, x * {a})",
    "softshrink": "x = tl.maximum(x - {a}, 0.0) + tl.minimum(x + {a}, 0.0)",
    "clamp": "x = tl.minimum(tl.maximum(x, {a}), {b})",
}
"""Operators on elements; `{a}` and `{b}` are constants, or a further input where the step takes one."""

_LOAD = "tl.load({extra}_ptr + offs, mask=mask, other=0.0)"

_ROW_LINES: dict[str, tuple[str, ...]] = {
    "softmax": (
        'x = tl.where(mask, x, -float("inf"))',
        "x = tl.exp(x - tl.max(x, axis=0))",
        "x = x / tl.sum(x, axis=0)",
    ),
    "log_softmax": (
        'x = tl.where(mask, x, -float("inf"))',
        "x = x - tl.max(x, axis=0)",
        "x = x - tl.log(tl.sum(tl.exp(x), axis=0))",
    ),
    "layernorm": (
        "x = tl.where(mask, x - tl.sum(tl.where(mask, x, 0.0), axis=0) / N, 0.0)",
        "x = x * tl.rsqrt(tl.sum(x * x, axis=0) / N + 1e-5)",
    ),
    "affine_layernorm": (
        "x = tl.where(mask, x - tl.sum(tl.where(mask, x, 0.0), axis=0) / N, 0.0)",
        "x = x * tl.rsqrt(tl.sum(x * x, axis=0) / N + 1e-5)",
        "x = x * tl.load(w_ptr + cols, mask=mask, other=0.0) + tl.load(b_ptr + cols, mask=mask, other=0.0)",
    ),
    "rmsnorm": ("x = x * tl.rsqrt(tl.sum(tl.where(mask, x * x, 0.0), axis=0) / N + 1e-6)",),
    "l2norm": ("x = x / tl.maximum(tl.sqrt(tl.sum(tl.where(mask, x * x, 0.0), axis=0)), 1e-12)",),
    "center": ("x = x - tl.sum(tl.where(mask, x, 0.0), axis=0) / N",),
    "row_sum": ("x = tl.sum(tl.where(mask, x, 0.0), axis=0)",),
    "row_mean": ("x = tl.sum(tl.where(mask, x, 0.0), axis=0) / N",),
    "row_max": ('x = tl.max(tl.where(mask, x, -float("inf")), axis=0)',),
    "row_min": ('x = tl.min(tl.where(mask, x, float("inf")), axis=0)',),
    "logsumexp": (
        'x = tl.where(mask, x, -float("inf"))',
        "x = tl.max(x, axis=0) + tl.log(tl.sum(tl.exp(x - tl.max(x, axis=0)), axis=0))",
    ),
    "row_norm": ("x = tl.sqrt(tl.sum(tl.where(mask, x * x, 0.0), axis=0))",),
}

_HEAD = """\
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
"""

_POINTWISE = """\
def kernel({pointers}, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
{body}
    tl.store(out_ptr + offs, x, mask=mask)


class ModelNew(nn.Module):
    def forward(self, {names}):
        {contiguous}
        out = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 1024),)]({names}, out, x.numel(), BLOCK=1024)
        return out
"""

_ROW = """\
def kernel({pointers}, out_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    offs = row * N + cols
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
{body}
    tl.store({store})


class ModelNew(nn.Module):
{init}    def forward(self, {names}):
        {contiguous}
        out = {out}
        kernel[(x.shape[0],)]({arguments}, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return out
"""

_NORM_INIT = """\
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

"""

_GEMM = """\
def kernel({pointers}, out_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rm = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    rn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    mask = (rm < M) & (rn < N)
    offs = rm * N + rn
    x = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(x_ptr + rm * K + k[None, :], mask=(rm < M) & (k[None, :] < K), other=0.0)
        b = tl.load(w_ptr + {weight_offset}, mask=(rn < N) & (k[:, None] < K), other=0.0)
        x = tl.dot(a, b, x, input_precision="ieee")
{body}
    tl.store(out_ptr + offs, x, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        {member}

    def forward(self, {names}):
        {contiguous}
        M, K = x.shape
        N = {columns}
        out = torch.empty((M, N), dtype=x.dtype, device=x.device)
        grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
        kernel[grid]({arguments}, out, M, N, K, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32)
        return out
"""

_LINEAR = "self.linear = nn.Linear(in_features, out_features{bias})"
_MATMUL = "self.weight = nn.Parameter(torch.randn(in_features, out_features) / in_features ** 0.5)"


def pair(task: Task) -> Pair:
    """The canonical answer to a synthetic task. Raises ValueError for a task without a graph."""
    if task.graph is None:
        raise ValueError(f"{task.id} has no operator graph")
    graph = Graph.parse(task.graph)
    write = {"pointwise": _pointwise, "row": _row, "gemm": _gemm}[graph.family]
    return Pair(_plan(graph), _HEAD + write(graph))


def _plan(graph: Graph) -> str:
    first, *rest = graph.steps
    if graph.family == "pointwise":
        return f"Fuse {_listed(graph.steps)} in one pass over the elements."
    if graph.family == "row":
        return f"One program per row: {_listed(graph.steps)}."
    if not rest:
        return f"Tile the {first}."
    return f"Tile the {first} and apply {_listed(rest)} to the accumulator."


def _listed(steps: list[Step] | tuple[Step, ...]) -> str:
    return ", ".join(map(str, steps))


def _names(graph: Graph) -> list[str]:
    return ["x", *graph.extras]


def _pointers(names: list[str]) -> str:
    return ", ".join(f"{name}_ptr" for name in names)


def _contiguous(names: list[str]) -> str:
    return f"{', '.join(names)} = {', '.join(f'{name}.contiguous()' for name in names)}"


def _body(steps: tuple[Step, ...]) -> str:
    return "\n".join(f"    {line}" for step in steps for line in _lines(step))


def _lines(step: Step) -> tuple[str, ...]:
    if step.name in _ROW_LINES:
        return _ROW_LINES[step.name]
    if step.extra:
        return (_LINES[step.name].format(a=_LOAD.format(extra=step.extra)),)
    return (_LINES[step.name].format(**dict(zip("ab", map(repr, step.constants), strict=False))),)


def _pointwise(graph: Graph) -> str:
    names = _names(graph)
    return _POINTWISE.format(
        pointers=_pointers(names), body=_body(graph.steps), names=", ".join(names), contiguous=_contiguous(names)
    )


def _row(graph: Graph) -> str:
    names = _names(graph)
    affine = any(step.name == "affine_layernorm" for step in graph.steps)
    out = "torch.empty(x.shape[0], dtype=x.dtype, device=x.device)" if graph.reduced else "torch.empty_like(x)"
    return _ROW.format(
        pointers=_pointers([*names, *(["w", "b"] if affine else [])]),
        body=_body(graph.steps),
        store="out_ptr + row, x" if graph.reduced else "out_ptr + offs, x, mask=mask",
        init=_NORM_INIT if affine else "",
        names=", ".join(names),
        contiguous=_contiguous(names),
        out=out,
        arguments=", ".join([*names, *(["self.norm.weight", "self.norm.bias"] if affine else [])]),
    )


def _gemm(graph: Graph) -> str:
    names = _names(graph)
    root = graph.steps[0].name
    bias = ["b"] if root == "linear" else []
    weight = "self.weight" if root == "matmul" else "self.linear.weight"
    body = _body(graph.steps[1:])
    if bias:
        body = "\n".join(filter(None, ["    x = x + tl.load(b_ptr + rn, mask=rn < N, other=0.0)", body]))
    text = _GEMM.format(
        pointers=_pointers(["x", "w", *bias, *graph.extras]),
        weight_offset="k[:, None] * N + rn" if root == "matmul" else "rn * K + k[:, None]",
        body=body,
        member=_MATMUL if root == "matmul" else _LINEAR.format(bias="" if bias else ", bias=False"),
        names=", ".join(names),
        contiguous=_contiguous(names),
        columns="self.weight.shape[1]" if root == "matmul" else "self.linear.weight.shape[0]",
        arguments=", ".join(["x", weight, *(["self.linear.bias"] if bias else []), *graph.extras]),
    )
    return text.replace("\n\n    tl.store", "\n    tl.store")
