"""Launches in functions of their own: what the functions are given, and that the answers stay right."""

import ast
from collections.abc import Callable
from typing import cast

import pytest
import torch
from judging import SUITE, judge, rules
from test_lower import answer, task
from torch._subclasses import FakeTensorMode

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.data.lower.convert import convert, pieces, templates
from tritonsmith.data.lower.launchers import launchers
from tritonsmith.data.pair import Miss, Pair
from tritonsmith.source import parse
from tritonsmith.tasks.format import TaskModule, load_spec
from tritonsmith.types import Task
from tritonsmith.verify.judge import Judge
from tritonsmith.verify.pool import Verifier

TWO_LINEAR = task(
    "return self.out(F.relu(self.inner(x)))", "self.inner, self.out = nn.Linear(10, 12), nn.Linear(12, 10)"
)


def functions(source: str) -> dict[str, ast.FunctionDef]:
    """The functions of the module that launch a kernel."""
    found = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and not node.decorator_list]
    return {node.name: node for node in found}


def forward(source: str) -> str:
    """The body of `ModelNew.forward`."""
    return source.partition("def forward(")[2].partition("\n")[2]


def test_a_function_follows_the_kernel_that_it_launches() -> None:
    names = [node.name for node in ast.parse(launchers(answer(TWO_LINEAR))).body if isinstance(node, ast.FunctionDef)]
    for kernel, function in zip(names[::2], names[1::2], strict=True):
        assert function == f"launch_{kernel.replace('_kernel', '')}"


def test_forward_launches_nothing_itself() -> None:
    body = forward(launchers(answer(TWO_LINEAR)))
    assert "_kernel" not in body and "empty" not in body
    assert "launch_linear(x, self.inner.weight, self.inner.bias)" in body


def test_a_function_allocates_what_its_kernel_writes_and_returns_it() -> None:
    for function in functions(launchers(answer(TWO_LINEAR))).values():
        assert isinstance(function.body[0], ast.Assign) and ast.unparse(function.body[-1]) == "return out"


def test_a_tensor_that_only_lends_its_dtype_is_not_passed() -> None:
    """The result of the second product is allocated like `x`; its first operand has the same dtype."""
    source = launchers(answer(TWO_LINEAR))
    assert all(
        [argument.arg for argument in one.args.args] == ["x", "weight", "bias"] for one in functions(source).values()
    )


def test_equal_launches_share_a_function() -> None:
    source = launchers(answer(task("return torch.softmax(torch.cumsum(torch.softmax(x, 1), 1), 1)")))
    assert source.count("@triton.jit") == len(functions(source)) == 2
    assert forward(source).count("launch_softmax(") == 2


def test_numbers_of_the_model_are_passed_by_their_name() -> None:
    one = task("return F.leaky_relu(x, self.slope) + y", "self.slope = 0.2", {"x": "6, 10", "y": "6, 10"})
    (function,) = functions(launchers(answer(one))).values()
    assert [argument.arg for argument in function.args.args] == ["x", "x2", "slope"]
    assert "self" not in ast.unparse(function)


def test_what_has_functions_already_stays_as_it_is() -> None:
    once = launchers(answer(TWO_LINEAR))
    assert launchers(once) == once


def test_no_name_of_torch_or_python_is_taken() -> None:
    source = launchers(answer(task("return x.sum(1)")))
    assert "launch_sum(" in source and "\ndef sum(" not in source


def test_a_task_without_an_answer_is_a_miss() -> None:
    assert isinstance(templates(task("return torch.linalg.svd(x)[1]")), Miss)


HARD = [
    "level1/softmax", "level1/conv2d", "level1/cross_entropy", "level1/batch_norm", "level1/embedding",
    "level2/attention", "level2/conv_bn_relu", "level2/gemm_gelu", "level2/layer_norm_residual",
]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in HARD if name in SUITE] + sorted(SUITE)[::9])
def test_answers_stay_right(verifier: Verifier, name: str) -> None:
    pair = templates(SUITE[name])
    assert isinstance(pair, Pair)
    config = VerifyConfig(device="cpu", timing=False, assemble="never")
    verdict = judge(Judge(config, ExtensionsConfig(), "cpu", verifier._zygotes), SUITE[name], pair.source)
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_answers_in_pieces_are_laid_out_alike() -> None:
    one: Task = task(
        "return torch.tanh(torch.exp(torch.sigmoid(torch.relu(x) + 1) * 2) - y)", shapes={"x": "6, 10", "y": "6, 10"}
    )
    pair = pieces(one)
    assert isinstance(pair, Pair) and "_kernel[" not in forward(pair.source)


def test_the_policy_follows_forward_into_the_functions(verifier: Verifier) -> None:
    """One that nothing calls makes no kernel reachable, one whose result is dropped is a decoy, and torch is seen."""
    relu = SUITE["level1/relu"]
    pair = templates(relu)
    assert isinstance(pair, Pair)
    call, made = "out = launch_relu(x)", "    out = torch.empty_like(x)\n"
    assert call in pair.source and made in pair.source
    for old, new, rule in [
        (call, "out = x.clone()", "kernel-unreachable"),
        (call, "launch_relu(x)\n        out = x.clone()", "decoy"),
        (made, f"{made}    x = torch.relu(x)\n", "torch-compute"),
    ]:
        verdict = judge(verifier, relu, pair.source.replace(old, new))
        assert rules(verdict) == {rule}


def test_findings_name_lines_of_the_function(verifier: Verifier) -> None:
    relu = SUITE["level1/relu"]
    pair = templates(relu)
    assert isinstance(pair, Pair)
    source = pair.source.replace("    return out\n\n", "    assert x.dim() > 9\n    return out\n\n", 1)
    (finding,) = judge(verifier, relu, source).findings
    assert finding.line is not None and "assert" in source.splitlines()[finding.line - 1]


# The same launches as before.

Described = tuple[object, ...]


class Observed:
    """What a candidate does with memory: its launches in order, and what it returns; tensors by where they lie."""

    def __init__(self) -> None:
        self.launches: list[Described] = []
        self._kept: list[torch.Tensor] = []
        self._places: dict[int, int] = {}

    def kernel(self, name: str) -> "Kernel":
        return Kernel(name, self)

    def describe(self, value: object) -> object:
        if isinstance(value, dict):
            value = list(value.items())
        if isinstance(value, (tuple, list)):
            return [self.describe(one) for one in value]
        if not isinstance(value, torch.Tensor):
            return value
        self._kept.append(value)  # or other memory could come to lie in its place
        place = self._places.setdefault(value.untyped_storage()._cdata, len(self._places))
        return place, tuple(value.shape), value.stride(), value.storage_offset(), value.dtype


class Kernel:
    """Stands for a kernel and notes its launches."""

    def __init__(self, name: str, seen: Observed) -> None:
        self.name, self.seen = name, seen

    def __getitem__(self, grid: object) -> Callable[..., None]:
        def launch(*passed: object, **named: object) -> None:
            described = [self.seen.describe(one) for one in passed]
            self.seen.launches.append((self.name, grid, described, named))

        return launch


def observed(one: Task, source: str) -> list[Described]:
    """The launches of a candidate on tensors without values, and what it returns."""
    seen = Observed()
    tree = parse(source)
    kernels = {n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.decorator_list}
    tree.body = [node for node in tree.body if not (isinstance(node, ast.FunctionDef) and node.name in kernels)]
    names: dict[str, object] = {name: seen.kernel(name) for name in kernels}
    exec(compile(tree, "<candidate>", "exec"), names)
    module = TaskModule.of(one)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
        model = cast(Callable[..., torch.nn.Module], names["ModelNew"])(*module.init_inputs())
        result = model(*(mode.from_tensor(x) if isinstance(x, torch.Tensor) else x for x in module.inputs(0)))
    return [*seen.launches, ("returned", seen.describe(result))]


def test_sixty_graphs_launch_the_same_on_the_same_memory() -> None:
    compared = 0
    for one in load_spec("graphs:60:11"):
        pair = convert(one)
        if isinstance(pair, Pair):
            compared += 1
            assert observed(one, launchers(pair.source)) == observed(one, pair.source), one.source
    assert compared >= 50


ODD = {
    "arguments called like builtins": task("return (torch.relu(input) + max).sum(1), F.softmax(input * 2.0, -1)",
                                           shapes={"input": "6, 10", "max": "6, 10"}),
    "arguments called like variables": task("return torch.exp(launch_exp) + out - t1.sum() * parts",
                                            shapes={"launch_exp": "6, 10", "out": "6, 10", "t1": "6", "parts": "10"}),
    "items of the model": task("return self.layers[-1](F.relu(self.layers[0](x)))",
                               "self.layers = nn.ModuleList([nn.Linear(10, 12), nn.Linear(12, 4)])"),
    "several outputs": task("v, i = x.max(dim=0)\nreturn {'v': v, 'rest': [i, (x.argmin(dim=1), x.sum())]}"),
    "several launches into one memory": task("return torch.cat([x, y * 2.0, x], dim=1)",
                                             shapes={"x": "6, 10", "y": "6, 10"}),
    "views in between": task("return torch.softmax(torch.exp(x).t(), -1).reshape(5, -1)[1:] * 2.0"),
    "batch statistics": task("return self.bn(x)", "self.bn = nn.BatchNorm2d(6)", {"x": "3, 6, 5, 4"}),
    "shared scratch": task("return x / x.sum(), x.sum()"),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_odd_answers_launch_the_same_on_the_same_memory(name: str) -> None:
    source = answer(ODD[name])
    assert launchers(source) != source
    assert observed(ODD[name], launchers(source)) == observed(ODD[name], source)


@pytest.mark.parametrize("name", ["arguments called like builtins", "arguments called like variables"])
def test_an_argument_may_have_any_name(verifier: Verifier, name: str) -> None:
    pair = templates(ODD[name])
    assert isinstance(pair, Pair)
    verdict = judge(verifier, ODD[name], pair.source)
    assert verdict.correct, (verdict.findings, verdict.mismatch, pair.source)


def test_an_argument_that_need_not_be_given_need_not_be_given_to_the_answer(verifier: Verifier) -> None:
    plain = task("return x * scale + 1.0")
    one = plain.model_copy(update={"source": plain.source.replace("forward(self, x)", "forward(self, x, scale=2.5)")})
    pair = templates(one)
    assert isinstance(pair, Pair) and "forward(self, x, scale=2.5)" in pair.source
    assert judge(verifier, one, pair.source).correct


WRITTEN = """import torch
import triton


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK):
    pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        {}
        return t1

    def extra(self):
        return 1
"""
COPY = "copy_kernel[(1,)](x, t1, n, BLOCK=64)"


def rewritten(*statements: str) -> str:
    return launchers(WRITTEN.format("\n        ".join(statements)))


def test_memory_is_made_before_what_it_is_made_like_changes() -> None:
    body = forward(rewritten("t1 = torch.empty_like(x)", "x = x[1:]", "n = x.numel()", COPY))
    assert body.index("t1 = torch.empty_like(x)") < body.index("x = x[1:]") < body.index("launch_copy(x, t1)")


@pytest.mark.parametrize(
    "launch",
    [
        "copy_kernel[lambda meta: (triton.cdiv(n, meta['BLOCK']),)](x, t1, n, BLOCK=64)",
        "copy_kernel[(1,)](*both, n, BLOCK=64)",
        "copy_kernel[(1,)](x, t1, n, **options)",
        "kernels[0][(1,)](x, t1, n, BLOCK=64)",
    ],
)
def test_a_launch_of_another_form_stays_where_it_is(launch: str) -> None:
    source = rewritten("t1 = torch.empty_like(x)", "n = x.numel()", launch)
    assert launch in forward(source) and "launch_copy" not in source


def test_each_statement_is_looked_at_once_for_what_the_rest_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unrolled recurrence has thousands: walking the rest for each took minutes."""
    seen: list[ast.AST] = []

    def loaded(node: ast.AST) -> set[str]:
        seen.append(node)
        return {leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Load)}

    monkeypatch.setattr("tritonsmith.data.lower.launchers._loaded", loaded)
    steps = [
        f"t{k} = torch.empty_like(x)\n        n = x.numel()\n        {COPY.replace('t1', f't{k}')}"
        for k in range(1, 41)
    ]
    body = forward(rewritten(*steps))
    assert body.count("= launch_copy(x)") == 40 and len(seen) == 3 * 40 + 1


def test_a_tensor_in_between_has_no_name_of_its_own_in_a_function() -> None:
    one = task("y = torch.relu(x)\ny = torch.cat([x[0], y[1]])\nreturn torch.cat([x[1], y])")
    assert " t1" not in "".join(ast.unparse(node.args) for node in functions(launchers(answer(one))).values())


def test_what_is_behind_forward_stays() -> None:
    assert rewritten("t1 = torch.empty_like(x)", "n = 3", COPY).endswith("def extra(self):\n        return 1\n")


def test_items_from_the_end_and_by_key_have_names() -> None:
    launch = "copy_kernel[(self.sizes[-1],)](x, t1, self.table['n'], BLOCK=64)"
    (function,) = functions(rewritten("t1 = torch.empty_like(x)", launch)).values()
    assert [argument.arg for argument in function.args.args] == ["x", "n", "sizes"]


def test_dtypes_of_a_variable_before_and_after_it_is_set_again_differ() -> None:
    """`t1` is like the half-precision `h`, which is not passed; `x` was that once."""
    source = rewritten("x = y.half()", "h = x", "x = y.float()", "t1 = h.new_empty(3)", "n = 3", COPY)
    assert "launch_copy(x, n, h)" in forward(source)
