"""A second model of a candidate beside the first: what one of them keeps for both is found."""

import pytest
import torch
from judging import HEAD, judge, small

from tritonsmith.tasks.format import TaskModule
from tritonsmith.types import Task
from tritonsmith.verify.dynamic import conduct
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.process import second
from tritonsmith.verify.process.loading import forget, import_source
from tritonsmith.verify.process.session import Session
from tritonsmith.verify.reference.other_numbers import other_counts, other_fractions

INIT = "    def __init__(self, n, slope):\n        super().__init__()\n        {made}\n\n"
TASK = small(
    "return x * self.weight * self.slope",
    "torch.randn(64, 48)",
    INIT.format(made="self.weight, self.slope = nn.Parameter(torch.randn(n)), slope"),
    "[48, 0.3]",
)
CANDIDATE = (
    HEAD
    + """@triton.jit
def times_kernel(x_ptr, w_ptr, out_ptr, n, cols, slope, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x * tl.load(w_ptr + at % cols, mask=at < n) * slope, mask=at < n)


KEPT = {{}}


class ModelNew(nn.Module):
    def __init__(self, n, slope):
        super().__init__()
        self.{name}, self.slope = nn.Parameter(torch.randn(n)), slope
        {made}

    def forward(self, x):
        out = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 256),)
        times_kernel[grid](x, {weight}, out, x.numel(), x.shape[1], {slope}, BLOCK=256)
        return out
"""
)


def _candidate(made: str = "pass", weight: str = "self.weight", slope: str = "self.slope", name: str = "weight") -> str:
    return CANDIDATE.format(made=made, weight=weight, slope=slope, name=name)


@pytest.mark.parametrize(
    "candidate",
    [
        _candidate('KEPT["w"] = self.weight', 'KEPT["w"]'),
        _candidate('KEPT["w"] = self.scale', 'KEPT["w"]', name="scale"),
        _candidate('KEPT["slope"] = slope', slope='KEPT["slope"]'),
        _candidate('KEPT.setdefault("slope", slope)', slope='KEPT["slope"]'),
        _candidate("ModelNew.model = self", "self.model.weight"),
    ],
    ids=["weight", "weight by another name", "number", "first number", "model"],
)
def test_what_two_models_share_is_found(verifier: Verifier, candidate: str) -> None:
    verdict = judge(verifier, TASK, candidate)
    assert not verdict.correct and verdict.findings == [conduct.SHARED]


@pytest.mark.parametrize(
    "candidate",
    [
        _candidate('KEPT["models"] = KEPT.get("models", 0) + 1'),
        _candidate('KEPT["n"] = n', slope="0.3"),
        _candidate('KEPT["n"] = n\n        assert slope == 0.3 and n % 3 != 1'),
        _candidate("KEPT[id(self)] = self.weight", "KEPT[id(self)]"),
    ],
    ids=["count", "number written in", "asserted numbers", "by the model"],
)
def test_what_each_has_for_itself_or_is_the_tasks_own_is_let_pass(verifier: Verifier, candidate: str) -> None:
    verdict = judge(verifier, TASK, candidate)
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def _init(task: Task | None) -> list[object]:
    assert task is not None
    return TaskModule.of(task).init_inputs()


def test_numbers_are_changed_that_the_reference_bears() -> None:
    assert _init(other_fractions(TASK)) == [48, 0.15]
    assert other_counts(TASK) is None  # the inputs have 48 columns
    layer = small(
        "return self.lin(x)", "torch.randn(4, 8)", INIT.format(made="self.lin = nn.Linear(8, n)"), "[5, True]"
    )
    assert other_fractions(layer) is None and _init(other_counts(layer)) == [6, False]
    assert other_fractions(small("return x", "torch.randn(4)")) is None


def test_the_first_model_is_called_again_and_a_candidate_imported_anew_knows_none() -> None:
    source = "from torch import nn\nBUILT = []\nclass ModelNew(nn.Linear):\n    def __init__(self):\n" + (
        "        super().__init__(2, 3)\n        BUILT.append(self)\n"
    )
    session = Session()
    try:
        session.module = import_source(source)
        first = session.model = session.module.ModelNew()
        header: dict[str, object] = {"seed": 3, "dtype": None}
        tree = {"init": [], "state": {"bias": torch.ones(3)}, "stand_ins": [], "by_name": {}}
        second.answer(session, header, tree)
        assert session.model is not first and session.aside is first and len(session.module.BUILT) == 2
        assert isinstance(session.model, torch.nn.Linear) and torch.equal(session.model.bias, torch.ones(3))
        second.answer(session, {"back": True}, None)
        assert session.model is first and session.aside is not first
        second.answer(session, {**header, "source": source}, tree)
        assert session.aside is first and len(session.module.BUILT) == 1
    finally:
        forget()
