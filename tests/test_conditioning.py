"""Few elements may be off by what rounding of the inputs explains, and by no more; where large scores are equal all."""

import math
from dataclasses import replace
from typing import cast

import pytest
import torch
from torch import nn

from tritonsmith.tasks.values import far
from tritonsmith.verify.numerics import Truth, compare
from tritonsmith.verify.reference.truth import truth_of


class Softmax(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, -1)


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x * self.weight, -1)


def _scores(gap: float, rows: int = 1, of: int = 64) -> torch.Tensor:
    """Rows whose greatest score stands alone, but for some whose two greatest are nearly equal."""
    scores = torch.randn(of, 16, generator=torch.Generator().manual_seed(0))
    scores[:, 0] = 1e6
    scores[:rows, 1] = 1e6 - gap
    return scores


def _of_moved(scores: torch.Tensor, units: float) -> torch.Tensor:
    """The softmax in which the greatest score was off by so many units of rounding, of 1/16 each."""
    moved = scores.double()
    moved[:, 0] += units / 16
    return torch.softmax(moved, -1).float()


def test_a_softmax_of_nearly_equal_scores_may_be_off_by_their_rounding() -> None:
    scores = _scores(gap=1.0)
    truth, got = truth_of(Softmax(), [scores]), _of_moved(scores, 1)
    assert compare(replace(truth, moved=None), got, "large values") is not None
    assert compare(truth, got, "large values") is None


def test_beyond_rounding_nearly_equal_scores_excuse_nothing() -> None:
    scores = _scores(gap=1.0)
    assert compare(truth_of(Softmax(), [scores]), _of_moved(scores, 64), "large values") is not None


def test_the_place_of_the_greatest_is_no_softmax() -> None:
    scores = _scores(gap=1.0)
    scores[:1] -= 1e6 - 1e3  # where rounding is a thousandth of that
    hard = nn.functional.one_hot(scores.argmax(-1), 16).float()
    assert compare(truth_of(Softmax(), [scores]), hard, "large values") is not None


def test_many_elements_that_are_off_are_no_luck() -> None:
    scores = _scores(gap=1.0, rows=48)
    assert compare(truth_of(Softmax(), [scores]), _of_moved(scores, 1), "large values") is not None


def test_lower_precision_in_few_elements_is_found() -> None:
    a, b = torch.randn(2, 64, 64, generator=torch.Generator().manual_seed(0))
    model = nn.Linear(64, 64, bias=False)
    model.weight.data = b
    truth = truth_of(model, [a])
    got = truth.exact.float().clone()
    got[0, :20] = (a[0].bfloat16().float() @ b.bfloat16().float().T)[:20]
    assert compare(truth, got, "as given") is not None


def test_a_weight_may_be_what_an_answer_hangs_on() -> None:
    # Whole numbers are labels, and are not moved themselves.
    scores = _scores(gap=1.0).round()
    truth = truth_of(Scaled(), [scores])
    assert compare(replace(truth, moved=None), _of_moved(scores, 1), "large values") is not None
    model = Scaled()
    model.weight.data += 2.0**-12
    assert compare(truth_of(model, [scores]), _of_moved(scores * (1 + 2.0**-12), 1), "large values") is None


def test_a_reference_that_has_other_weights_meanwhile_tells_nothing() -> None:
    model, scores = Scaled(), _scores(gap=1.0)
    truth = truth_of(model, [scores])
    model.weight.data *= 2
    assert compare(truth, _of_moved(scores, 1), "large values") is not None


def test_what_was_asked_is_kept() -> None:
    scores, asked = _scores(gap=1.0), list[int]()
    truth = truth_of(Softmax(), [scores])

    def moved(number: int) -> object:
        asked.append(number)
        assert truth.moved is not None
        return truth.moved(number)

    counted: Truth = replace(truth, moved=moved)
    for _ in range(2):
        assert compare(counted, _of_moved(scores, 1), "large values") is None
    assert len(asked) == len(set(asked)) > 1


class Attention(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, -1) @ v


def _scores_of_scaled(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """Base 2 scores of queries that are scaled once, one product after another, as a kernel's loop adds them."""
    scaled = (q * (1.4426950408889634 / math.sqrt(q.shape[-1]))).to(q.dtype).float()
    scores = torch.zeros(*q.shape[:-1], k.shape[-2])
    for column in range(q.shape[-1]):
        scores += scaled[..., column, None] * k[..., None, :, column].float()
    return scores


def _far_apart(dim: int, dtype: torch.dtype) -> list[torch.Tensor]:
    drawn = torch.randn(3, 2, 192, dim, generator=torch.Generator().manual_seed(dim))
    return [one.to(dtype) for one in cast(list[torch.Tensor], far(list(drawn), -1, product=True))]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("dim", [16, 64, 80, 256])
def test_queries_may_be_scaled_before_scores_far_from_zero_are_equal(dim: int, dtype: torch.dtype) -> None:
    # Many scores are equal there, and a thousand times their rounding is what a flash attention errs by in each.
    q, k, v = _far_apart(dim, dtype)
    scores = _scores_of_scaled(q, k)
    shares = torch.exp2(scores - scores.amax(-1, keepdim=True))
    got = (shares @ v.float() / shares.sum(-1, keepdim=True)).to(dtype)
    truth = replace(truth_of(Attention(), [q, k, v], one_sided=True), faint=False)
    assert compare(truth, got, "values far below zero") is None


@pytest.mark.parametrize("dim", [16, 64, 80, 256])
@pytest.mark.parametrize("begin", ["zero", "one answer"])
def test_among_scores_far_from_zero_a_wrong_maximum_is_found(dim: int, begin: str) -> None:
    q, k, v = _far_apart(dim, torch.float32)
    scores = _scores_of_scaled(q, k)
    shares = torch.exp2(scores - scores.amax(-1, keepdim=True).clamp(min=0))
    got = shares @ v / shares.sum(-1, keepdim=True).clamp(min=1e-20)
    if begin == "one answer":
        got = v.gather(-2, scores.argmax(-1, keepdim=True).expand_as(v))
    truth = replace(truth_of(Attention(), [q, k, v], one_sided=True), faint=False)
    assert compare(truth, got, "values far below zero") is not None
