"""One model of a candidate, or of a reference, used on: on more rows, and with other weights."""

import pytest
import torch
from judging import HEAD, judge, small
from torch import nn

from tritonsmith.verify import one_by_one
from tritonsmith.verify.dynamic import conduct
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.process import retrained
from tritonsmith.verify.process.session import Session
from tritonsmith.verify.reference import reused
from tritonsmith.verify.reference.by_name import Weights

TASK = small(
    "return x * self.weight",
    "torch.randn(64, 48)",
    "    def __init__(self, n):\n        super().__init__()\n        self.weight = nn.Parameter(torch.randn(n))\n\n",
    "[48]",
)
KERNEL = """@triton.jit
def times_kernel(x_ptr, w_ptr, out_ptr, n, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x * tl.load(w_ptr + at % cols, mask=at < n), mask=at < n)


"""
MODEL = """class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.{name} = nn.Parameter(torch.randn(n))
        self.kept, self.rows = {built}, None

    def forward(self, x):
{before}
        out = torch.empty_like(x)
        times_kernel[(triton.cdiv(x.numel(), 256),)](x, {weight}, out, x.numel(), x.shape[1], BLOCK=256)
        return out
"""
ONCE = "        if self.kept is None:\n            self.kept = self.{name}.detach().clone()"
BY_KEY = """        if self.rows != {key}:
            self.kept, self.rows = self.weight.detach().clone(), {key}"""
ASSERTS = "        self.rows = self.rows or x.shape[0]\n        assert x.shape[0] == self.rows"


def _candidate(before: str = "", weight: str = "self.weight", name: str = "weight", built: str = "None") -> str:
    return HEAD + KERNEL + MODEL.format(before=before, weight=weight, name=name, built=built)


@pytest.mark.parametrize("name", ["weight", "scale"])
def test_a_weight_kept_from_the_first_call_is_found_by_whatever_name(verifier: Verifier, name: str) -> None:
    verdict = judge(verifier, TASK, _candidate(ONCE.format(name=name), "self.kept", name))
    assert not verdict.correct and verdict.findings == [conduct.STALE]


@pytest.mark.parametrize("key", ["self.weight._version % 3", "self.weight[0].item()"])
def test_a_weight_kept_by_what_training_may_leave_is_found(verifier: Verifier, key: str) -> None:
    verdict = judge(verifier, TASK, _candidate(BY_KEY.format(key=key), "self.kept"))
    assert not verdict.correct and verdict.findings == [conduct.STALE]


def test_a_weight_kept_by_its_version_and_its_place_is_let_pass(verifier: Verifier) -> None:
    key = "(self.weight._version, self.weight.data_ptr())"
    verdict = judge(verifier, TASK, _candidate(BY_KEY.format(key=key), "self.kept"))
    assert verdict.correct, verdict.findings


def test_sizes_of_the_first_call_are_found_where_they_are_asserted(verifier: Verifier) -> None:
    verdict = judge(verifier, TASK, _candidate(ASSERTS))
    assert not verdict.correct and verdict.findings == [conduct.FROZEN]


def test_what_a_constructor_prepares_and_a_kept_view_are_let_pass(verifier: Verifier) -> None:
    view = "        if self.kept is None:\n            self.kept = self.weight.view(1, -1)"
    for candidate in (
        _candidate(weight="self.kept", built="self.weight.detach()"),
        _candidate(weight="self.kept", built="nn.Buffer(self.weight.detach().clone(), persistent=False)"),
        _candidate(view, "self.kept"),
        _candidate("        assert x.shape[0] % 3 != 0"),
    ):
        verdict = judge(verifier, TASK, candidate)
        assert verdict.correct, verdict.findings


def test_weights_are_found_by_name_or_by_what_one_tensor_alone_holds() -> None:
    model = nn.Module()
    model.weight, model.other = nn.Parameter(torch.arange(6.0)), nn.Parameter(torch.arange(4.0).view(2, 2))
    model.zeros, model.more = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(3))
    begins = {"weight": torch.zeros(6), "bias": torch.arange(4.0), "shift": torch.zeros(3), "none": torch.ones(9)}
    found = retrained.places(model, {name: (tensor, tensor) for name, tensor in begins.items()})
    assert {name: id(tensor) for name, tensor in found.items()} == {"weight": id(model.weight), "bias": id(model.other)}


def test_named_weights_alone_are_changed_and_as_often_as_is_asked() -> None:
    session, held = Session(), nn.Linear(4, 3)
    session.model, before = held, held.weight.detach().clone()
    rows = {"weight": [before, before + 1], "bias": [held.bias.detach().clone(), torch.ones(3)]}
    versions = held.weight._version, held.bias._version
    told, _ = retrained.answer(session, {"only": ["bias"], "times": 5}, rows)  # type: ignore[arg-type]
    assert told == {"found": ["weight", "bias"]}
    assert torch.equal(held.bias, torch.ones(3)) and torch.equal(held.weight, before)
    assert (held.weight._version, held.bias._version) == (versions[0], versions[1] + 5)


@pytest.mark.parametrize("share", [0.25, 1.0])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 64])
def test_a_part_of_a_weight_is_neither_its_first_number_nor_its_last(count: int, share: float) -> None:
    begins, contents = torch.zeros(count), torch.ones(count)
    for held in (begins, contents):
        changed = one_by_one._in_part(held, begins, contents, share) != held
        assert changed.any() and (count < 3 or not (changed[0] or changed[-1]))
        assert count < 3 or int(changed.sum()) == max(1, int(share * (count - 2)))


def test_names_of_one_tensor_are_changed_together_and_the_largest_first() -> None:
    rows = [(torch.zeros(size), torch.ones(size)) for size in (2, 9, 7, 5, 3, 8, 6, 4)]
    weights = Weights({str(len(row[0])): row for row in rows}, tied=rows[1])
    picked = one_by_one._picked(weights)
    assert picked == [{"9", "tied"}, {"8"}, {"7"}, {"4"}, {"3"}, {"2"}]
    changed = one_by_one._partly(
        Weights({name: (row[0], row[0]) for name, row in weights.items()}), weights, picked[0], 1
    )
    assert changed["9"] is changed["tied"] and [name for name, row in changed.items() if row[1].any()] == ["9", "tied"]


class _Scaled(nn.Module):
    def __init__(self, keeps: bool) -> None:
        super().__init__()
        self.weight, self.keeps = nn.Parameter(torch.ones(3)), keeps
        self.kept: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.kept is None or not self.keeps:
            self.kept = self.weight.detach().clone()
        return x * self.kept


def test_a_reference_that_keeps_its_weights_is_not_followed() -> None:
    known, x = Weights(weight=(torch.ones(3), torch.full((3,), 2.0))), torch.randn(4, 3)
    truth = reused.trained(_Scaled(False), known, [x])
    assert truth is not None and torch.equal(truth.native, 2 * x)  # type: ignore[arg-type]
    assert reused.trained(_Scaled(True), known, [x]) is None


class _Product(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def test_rows_are_those_that_the_reference_bears() -> None:
    square = [[torch.randn(4, 4), torch.randn(4, 4)] for _ in range(2)]
    found = reused.more_rows(_Product(), *square)
    assert found is not None and [len(item) for item in found[0] if isinstance(item, torch.Tensor)] == [8, 4]
    both = reused.more_rows(nn.L1Loss(), *square)
    assert both is not None and [len(item) for item in both[0] if isinstance(item, torch.Tensor)] == [8, 8]
    assert reused.more_rows(nn.Identity(), [torch.tensor(1.0)], [torch.tensor(2.0)]) is None
