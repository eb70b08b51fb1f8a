"""Inductor's Triton as candidates: correct at all sizes, plain, and a reason where there is none."""

import ast
from collections.abc import Callable

import pytest
from judging import judge

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.data.inductor import convert
from tritonsmith.data.inductor.kernels import clean
from tritonsmith.data.inductor.layout import contiguous
from tritonsmith.data.inductor.simplify import simplify
from tritonsmith.data.pair import Miss, Pair
from tritonsmith.tasks.format import load_spec
from tritonsmith.types import Task
from tritonsmith.verify.pool import Verifier

SUITE = "tritonsmith/tasks/suite"


@pytest.fixture(scope="module")
def thorough():
    """A verifier that tries every variant: larger and odd sizes, half precision, new contents."""
    settings = VerifyConfig(device="cpu", timing=False, timeout=300)
    with Verifier(settings, extensions=ExtensionsConfig(multi_input=True)) as verifier:
        yield verifier


def task(init: str, forward: str, inputs: str, arguments: str = "", given: str = "", head: str = "") -> Task:
    """A task out of its parts; the constructor's parameters and their values come as text."""
    source = f"""\
import torch
import torch.nn as nn
import torch.nn.functional as F

{head}
size = 48


class Model(nn.Module):
    def __init__(self{arguments and ", " + arguments}):
        super().__init__()
        {init or "pass"}

    def forward(self, {", ".join("xyz"[: inputs.count("torch.") or 1])}):
        {forward}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return [{given}]
"""
    return Task(id="test/made", level=1, source=source)


@pytest.fixture(scope="module")
def suite() -> Callable[[str], Pair]:
    """Converts tasks of the suite, each once."""
    known: dict[str, Pair] = {}

    def pair(name: str) -> Pair:
        if name not in known:
            (one,) = load_spec(f"{SUITE}/{name}.py")
            known[name] = _pair(convert(one))
        return known[name]

    return pair


@pytest.mark.parametrize("name", ["level2/gemm_bias_relu", "level2/conv2d_hardswish_maxpool"])
def test_one_candidate_serves_all_sizes_and_half_precision(thorough: Verifier, suite: Callable, name: str):
    (one,) = load_spec(f"{SUITE}/{name}.py")
    verdict = judge(thorough, one, suite(name).source)
    assert verdict.correct, (verdict.findings, verdict.mismatch)


MADE = {
    "groups": task(
        "self.conv = nn.Conv2d(4, 16, 3, groups=2)\n        self.norm = nn.GroupNorm(groups, 16)",
        "return F.silu(self.norm(self.conv(x)))", "torch.randn(2, 4, 9, 7)", "groups", "4",
    ),
    "transposed": task(
        "self.conv = nn.ConvTranspose1d(6, 5, 3, stride=2, padding=1, output_padding=1, dilation=2)",
        "return self.conv(x)", "torch.randn(2, 6, 11)",
    ),
    "one channel a group": task(
        "self.conv = nn.Conv1d(6, 6, 3, groups=6, padding=1)", "return self.conv(x)", "torch.randn(2, 6, 11)",
    ),
    "wide window": task(
        "self.pool = nn.AvgPool2d(k, stride=2)", "return self.pool(x)", "torch.randn(2, 3, 16, 12)", "k", "5",
    ),
    "attention": task(
        "", "return F.scaled_dot_product_attention(x, y, z)", ", ".join(["torch.randn(2, 3, 17, 8)"] * 3),
    ),
    "dilated maximum": task(
        "self.pool = nn.MaxPool1d(3, stride=1, dilation=2, padding=1)", "return self.pool(x)",
        "torch.randn(2, 3, 16)",
    ),
    "structure": task("", "return {'a': x + 1, 'b': [x.sum(1), x * 2]}", "torch.randn(5, 33)"),
    "product of a row": task("", "return torch.prod(x, dim=1)", "torch.rand(9, 20) + 0.5"),
    "cumulative maximum": task("", "return torch.cummax(x, dim=1).values", "torch.randn(9, 40)"),
    "plain tensor attribute": task(
        "self.mask = torch.tril(torch.ones(n, n))", "return x.masked_fill(self.mask == 0, -1.0)",
        "torch.randn(3, size, size)", "n", "size",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_what_the_suite_does_not_hold_is_correct_too(verifier: Verifier, name: str):
    verdict = judge(verifier, MADE[name], _pair(convert(MADE[name])).source)
    assert verdict.correct, (verdict.findings, verdict.mismatch)


@pytest.mark.parametrize("name", ["level1/var_dim", "level2/gemm_bias_relu", "level2/conv2d_hardswish_maxpool"])
def test_nothing_of_inductor_is_left(suite: Callable, name: str):
    source = suite(name).source
    for word in ("inductor", "triton_helpers", "tl_math", "reinterpret_tensor", "assert_size_stride", "stream"):
        assert word not in source


def test_no_size_of_the_task_is_in_the_candidate(suite: Callable):
    source = suite("level2/gemm_bias_relu").source
    assert not any(size in source for size in ("2000", "3072", "5120"))


def test_the_constructor_is_the_task_s_and_forward_takes_its_parameters(suite: Callable):
    source = suite("level2/gemm_bias_relu").source
    assert "def __init__(self, in_features: int, out_features: int) -> None:" in source
    assert "def forward(self, x: torch.Tensor) -> torch.Tensor:" in source


def test_helper_classes_come_along_without_their_forward():
    head = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Linear(size, size)

    def forward(self, x):
        return F.relu(self.w(x))
"""
    source = _pair(convert(task("self.a = Block()", "return self.a(x)", "torch.randn(4, size)", head=head))).source
    assert "class Block" in source
    assert source.count("def forward") == 1


@pytest.mark.parametrize(
    ("forward", "word"),
    [
        ("return F.dropout(x, 0.5)", "random"),
        ("return torch.sort(x).values", "sort"),
        ("return x + torch.rand_like(x)", "random"),
        ("return x.nonzero()", "depends on values"),
        ("return x * x.sum().item()", "depends on values"),
    ],
)
def test_what_cannot_be_converted_is_a_miss_with_a_reason(forward: str, word: str):
    missed = convert(task("", forward, "torch.randn(8, 8)"))
    assert isinstance(missed, Miss)
    assert word in missed.reason and len(missed.reason) < 80


def test_a_task_that_does_not_run_is_a_miss():
    assert isinstance(convert(task("self.x = 1 / 0", "return x", "torch.randn(8, 8)")), Miss)


def test_another_target_gives_the_same_candidate():
    one = task("", "return torch.relu(x)", "torch.randn(8, 8)")
    assert _pair(convert(one, "sm_80")).source == _pair(convert(one, "gfx942")).source


@pytest.mark.parametrize("name", ["level1/var_dim", "level2/gemm_bias_relu", "level2/conv2d_hardswish_maxpool"])
def test_a_plan_has_two_to_six_lines_and_names_the_kernels(suite: Callable, name: str):
    pair = suite(name)
    names = [
        n.name for n in ast.parse(pair.source).body if isinstance(n, ast.FunctionDef) and n.name.endswith("_kernel")
    ]
    assert 2 <= len(pair.plan.splitlines()) <= 6
    assert any(name.removesuffix("_kernel") in pair.plan for name in names)


def test_simplification_keeps_what_is_stored():
    text = "def f(p, n):\n    a = 1.0\n    b = n\n    dead = a + 2\n    c = b + 0\n    tl.store(p + c, a)\n"
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    simplify(function, lambda node: None)
    assert ast.unparse(function) == "def f(p, n):\n    tl.store(p + n, 1.0)"


def test_an_expression_does_not_move_past_a_change_of_its_names():
    text = "def f(p, n):\n    a = n + 1\n    n = 7\n    tl.store(p + n, a)\n"
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    simplify(function, lambda node: None)
    assert "a = n + 1" in ast.unparse(function)


@pytest.mark.parametrize(
    ("size", "stride", "expected"),
    [("(m, n)", "(n, 1)", True), ("(m, n)", "(1, m)", False), ("(1, n // 2)", "(n, 1)", True), ("()", "()", True)],
)
def test_strides_in_order_are_told_from_others(size: str, stride: str, expected: bool):
    items = [ast.parse(text, mode="eval").body for text in (size, stride)]
    assert contiguous(items[0].elts, items[1].elts) is expected  # type: ignore[attr-defined]


def test_loads_of_half_precision_are_cast_and_others_are_not():
    text = """
@triton_heuristics.pointwise(triton_meta={'signature': {'in_ptr0': '*fp16', 'in_ptr1': '*i64', 'xnumel': 'i32'}})
@triton.jit
def triton_poi_fused_add_0(in_ptr0, in_ptr1, xnumel, XBLOCK: tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    tmp0 = tl.load(in_ptr0 + (xindex), xmask, eviction_policy='evict_last')
    tmp1 = tl.load(in_ptr1 + (xindex), xmask)
    tl.store(in_ptr0 + (xindex), tmp0 + tmp1, xmask)
"""
    written = ast.unparse(clean(text).function)
    assert written.count(".to(tl.float32)") == 1
    assert "eviction_policy" not in written


def _pair(result: Pair | Miss) -> Pair:
    assert isinstance(result, Pair), result
    return result
