"""Traces: what the text says, what the canonical form ignores, and tasks that have none."""

import pytest
from judging import SUITE

from tritonsmith.tasks import traced
from tritonsmith.tasks.traced_form import form
from tritonsmith.types import Task

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n"


def task(forward: str, inputs: str = "torch.randn(8, 16)", members: str = "pass") -> Task:
    source = (
        f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {members}\n\n"
        f"    def forward(self, x, *rest):\n        {forward}\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\ndef get_init_inputs():\n    return []\n"
    )
    return Task(id="t", level=1, source=source)


def text(one: Task) -> str:
    described = traced.describe(one)
    assert described is not None
    return described


def canonical(one: Task) -> str:
    found = traced.trace(one)
    assert found is not None
    return form(found)


def test_every_task_of_the_suite_is_traced() -> None:
    assert [name for name, one in SUITE.items() if traced.trace(one) is None] == []


def test_a_line_names_operator_leaves_types_and_what_is_not_default() -> None:
    one = task("return self.conv(x)", "torch.randn(4, 3, 9, 9)", "self.conv = nn.Conv2d(3, 6, 3, stride=2, bias=False)")
    assert text(one) == ("%0 = conv2d(x: f32[4,3,9,9], conv.weight: f32[6,3,3,3], stride=2) -> f32[4,6,4,4]\nreturn %0")


def test_types_are_said_once() -> None:
    assert text(task("return x * x + x")) == (
        "%0 = mul(x: f32[8,16], x) -> f32[8,16]\n%1 = add(%0, x) -> f32[8,16]\nreturn %1"
    )


def test_several_outputs_are_told_apart() -> None:
    shown = text(task("values, indices = x.max(dim=1)\n        return values, indices"))
    assert "-> (f32[8], i64[8])" in shown and shown.endswith("return (%0.0, %0.1)")


def test_nested_inputs_have_paths_for_names() -> None:
    assert "add(x[0]: f32[2], x[1]: f32[2])" in text(task("return x[0] + x[1]", "[torch.randn(2), torch.randn(2)]"))


def test_half_precision_and_integers_are_said() -> None:
    shown = text(task("return x[rest[0]]", "torch.randn(8).half(), torch.arange(3)"))
    assert "x: f16[8]" in shown and "i64[3]" in shown


def test_tensors_that_are_no_parameters_are_constants() -> None:
    assert "constant0: f32[]" in text(task("return x * self.scale", members="self.scale = torch.tensor(2.0)"))


def test_no_memory_is_taken_for_huge_tasks() -> None:
    assert "f32[1000000,1000000]" in text(task("return x + 1", "torch.randn(1000000, 1000000)"))


def test_long_traces_are_cut() -> None:
    shown = text(task("for _ in range(200):\n            x = x + 1\n        return x"))
    assert f"... {200 - traced.MOST_LINES} more operators" in shown


@pytest.mark.parametrize(
    "forward", ["return x * x.sum().item()", "return undefined", "return x if x[0, 0] > 0 else -x"]
)
def test_what_depends_on_values_or_fails_has_no_trace(forward: str) -> None:
    assert traced.trace(task(forward)) is None


@pytest.mark.parametrize(
    "other",
    [
        task("y = x.relu()\n        return y.sum(-1)"),
        task("x = F.relu(x)\n        return torch.sum(x, dim=1)", "torch.randn(5, 7)"),
        task("return nn.ReLU(inplace=True)(x + 0 if False else x).sum(1)"),
    ],
)
def test_canonical_form_ignores_sizes_and_writing(other: Task) -> None:
    assert canonical(other) == canonical(task("return torch.relu(x).sum(dim=1)"))


@pytest.mark.parametrize(
    "other",
    [
        task("return torch.relu(x).sum(dim=0)"),
        task("return torch.tanh(x).sum(dim=1)"),
        task("return torch.relu(x.sum(dim=1))"),
        task("return torch.relu(x).sum(dim=1)", "torch.randn(8, 16).double()"),
        task("return torch.relu(x).sum(dim=1, keepdim=True)"),
    ],
)
def test_canonical_form_tells_computations_apart(other: Task) -> None:
    assert canonical(other) != canonical(task("return torch.relu(x).sum(dim=1)"))


PAIR = "torch.randn(8, 16), torch.randn(8, 16)"


@pytest.mark.parametrize(
    ("forward", "others"),
    [
        ("return x.square()", ["return x ** 2", "return torch.pow(x, 2.0)"]),
        ("return torch.maximum(x, rest[0])", ["return torch.max(x, rest[0])", "return torch.maximum(rest[0], x)"]),
        ("return torch.tanh(x) + rest[0]", ["return rest[0] + torch.tanh(x)"]),
        ("return x.tanh() - rest[0].exp()", ["a = rest[0].exp(); return x.tanh() - a"]),
        ("return x.tanh() * rest[0].exp()", ["a = rest[0].exp(); return a * x.tanh()"]),
        ("return x.aminmax()[1] - x.mean()", ["a = x.mean(); return x.aminmax()[1] - a"]),
        ("return (x - 1.0) * rest[0]", ["return (x - 1) * rest[0]", "return rest[0] * (x - 1)"]),
        (
            "return F.cosine_similarity(x, rest[0])",
            ["return F.cosine_similarity(x, rest[0], dim=-1)", "return F.cosine_similarity(x, rest[0], 1)"],
        ),
    ],
)
def test_canonical_form_knows_some_spellings(forward: str, others: list[str]) -> None:
    assert {canonical(task(other, PAIR)) for other in others} == {canonical(task(forward, PAIR))}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("return x - rest[0].tanh()", "return rest[0].tanh() - x.tanh()"),
        ("return x * x", "return x * rest[0]"),
        ("return x.aminmax()[1]", "return x.aminmax()[0]"),
        ("a = x + 1; x.mul_(2); return a", "x.mul_(2); return x + 1"),
        ("return torch.add(x.tanh(), x, alpha=2)", "return torch.add(x, x.tanh(), alpha=2)"),
        ("return x.tanh() + x", "return x.tanh() + rest[0]"),
        ("return x.sum(0)", "return x.sum(1)"),
        ("return torch.max(x, rest[0])", "return torch.min(x, rest[0])"),
        ("return x ** 2", "return x ** 3"),
    ],
)
def test_what_may_change_places_is_no_other_computation(one: str, other: str) -> None:
    assert canonical(task(one, PAIR)) != canonical(task(other, PAIR))
