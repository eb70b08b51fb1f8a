"""Null controls: tasks that a do-nothing answer passes are flagged and hardened, and the suite holds none."""

import time

import pytest
from judging import DOUBLE

from tritonsmith.tasks import scaling
from tritonsmith.tasks.format import load_spec
from tritonsmith.types import Task
from tritonsmith.verify.vet import Flag, hardening, vet

RAND, RANDN = "torch.rand(64, 48)", "torch.randn(64, 48)"


def _task(forward: str, *inputs: str) -> Task:
    names = ", ".join("xyz"[: len(inputs)])
    source = (
        "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n\n"
        "class Model(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.linear = nn.Linear(48, 32)\n"
        f"    def forward(self, {names}):\n        return {forward}\n\n"
        f"def get_inputs():\n    return [{', '.join(inputs)}]\n\n"
        "def get_init_inputs():\n    return []\n"
    )
    return Task(id="t", level=1, source=source)


def _flags(task: Task) -> dict[str, Flag]:
    return {flag.control: flag for flag in vet(task)}


def test_the_suite_passes_no_control_at_the_interpreters_sizes() -> None:
    small = [scaling.full(task).task for task in load_spec("suite")]
    assert {task.id: flags for task in small if (flags := vet(task))} == {}


@pytest.mark.parametrize(
    ("task", "control"),
    [
        (_task("F.gelu(y - y.mean(dim=1, keepdim=True)) * 0 + x * 0", RANDN, RANDN), "zeros"),
        (_task("torch.softmax(self.linear(x).sum(dim=1, keepdim=True), dim=1)", RANDN), "ones"),
        (_task("torch.clamp(self.linear(x), min=10.0)", RANDN), "mean"),
        (_task("torch.relu(x)", RAND), "input 0 copied"),
        (_task("x.reshape(48, 64)", RANDN), "input 0 copied"),
        (_task("torch.round(torch.sigmoid(x + 20.0) * 4.0)", RANDN), "stale"),
        (_task("torch.relu(x) + 0.0 * y", RANDN, RANDN), "input 1 ignored"),
    ],
)
def test_a_task_that_a_control_passes_is_flagged(task: Task, control: str) -> None:
    assert control in _flags(task)


@pytest.mark.parametrize(
    ("task", "property"),
    [
        (_task("F.dropout(x)", RANDN), "deterministic"),
        (_task("torch.log(x - 0.5)", RAND), "finite"),
        (_task("float(x.sum())", RANDN), "tensors"),
        (_task("x.to_sparse()", RANDN), "tensors"),
        (_task("x.nothing()", RANDN), "runs"),
        (_task("x * 2.0", "torch.from_numpy(__import__('numpy').random.rand(64, 48))"), "seeded"),
        (DOUBLE.model_copy(update={"source": "def broken(:"}), "runs"),
    ],
)
def test_a_task_without_a_property_is_flagged(task: Task, property: str) -> None:
    assert list(_flags(task)) == [property]


@pytest.mark.parametrize(
    "task",
    [
        DOUBLE,
        _task("torch.softmax(x, dim=1)", RAND),
        _task("torch.relu(x)", RANDN),
        _task("torch.argmax(x, dim=1)", RANDN),
        _task("x * y", RANDN, "torch.arange(48.0)"),
        _task("(x + y, x * y)", RANDN, RANDN),
    ],
)
def test_a_good_task_is_not_flagged(task: Task) -> None:
    assert vet(task) == []


def test_zeros_for_a_long_softmax_do_not_pass() -> None:
    assert vet(_task("torch.softmax(x, dim=1)", "torch.rand(2, 16000)")) == []


def test_an_average_is_tried_at_its_own_size() -> None:
    constant = _task("torch.sigmoid(8.0 * x + 8.0 * x.numel() / 1e6).mean()", "torch.rand(2048, 1500)")
    flag = _flags(constant)["ones"]
    assert "at its own size" in flag.message and vet(scaling.full(constant).task) == []


@pytest.mark.parametrize(
    ("task", "labels"),
    [
        (_task("torch.relu(x)", RAND), {"negative values"}),
        (_task("torch.clamp(self.linear(x), min=10.0)", RANDN), {"large values"}),
        (_task("torch.clamp(x, min=-7.0, max=7.0)", RANDN), {"large values"}),
        (DOUBLE, set()),
        (_task("x", RANDN), set()),
    ],
)
def test_hardening_is_what_finds_the_control_out(task: Task, labels: set[str]) -> None:
    assert hardening(task) == labels


def test_a_flag_names_what_catches_it() -> None:
    assert _flags(_task("torch.clamp(x, max=1000.0)", RAND))["input 0 copied"].caught_by == ()
    assert "large values" in _flags(_task("torch.clamp(x, max=7.0)", RANDN))["input 0 copied"].caught_by


def test_hardening_takes_hundredths_of_a_second() -> None:
    took: list[float] = []
    for _ in range(4):
        start = time.monotonic()
        hardening(DOUBLE)
        took.append(time.monotonic() - start)
    assert min(took) < 0.25
