"""Answers that hang on which of equal values comes first, or on which side of a step a value falls, are found to."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from tritonsmith.verify.numerics import compare
from tritonsmith.verify.reference.truth import hangs_on_ties, truth_of

TIED = torch.tensor([[3.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 2.0, 0.0, 0.0]])


class _Of(nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


def kept(x: torch.Tensor) -> torch.Tensor:
    values, places = x.topk(3)
    return torch.full_like(x, -1.0).scatter(-1, places, values)


def ranked(x: torch.Tensor) -> torch.Tensor:
    return x.argsort(dim=-1).to(x.dtype)


def largest(x: torch.Tensor) -> torch.Tensor:
    return x.topk(3).values


def first(x: torch.Tensor) -> torch.Tensor:
    return x.argmax(-1).to(x.dtype)


@pytest.mark.parametrize("function", [kept, ranked])
def test_of_places_that_are_open_an_answer_hangs_on_ties(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    assert hangs_on_ties(_Of(function), [TIED])
    assert not hangs_on_ties(_Of(function), [torch.randn(4, 9)])


@pytest.mark.parametrize("function", [largest, first, torch.relu])
def test_of_values_or_places_that_are_settled_none_does(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    assert not hangs_on_ties(_Of(function), [TIED])


def routed(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1).topk(8).indices.to(torch.int32)


def quantised(x: torch.Tensor) -> torch.Tensor:
    scale = x.abs().amax(-1, keepdim=True) / 127.0
    return torch.round(x / scale).to(torch.int8)


def _with_errors_of_a_gpu(x: torch.Tensor) -> torch.Tensor:
    """`routed`, its probabilities off by up to three units of rounding."""
    shares = torch.softmax(x, -1)
    shares = shares * (1 + 3 * torch.finfo(torch.float32).eps * (2 * torch.rand_like(shares) - 1))
    return shares.topk(8).indices.to(torch.int32)


def test_places_of_faint_values_may_be_others_where_rounding_of_what_is_made_of_them_decides() -> None:
    torch.manual_seed(0)
    x = torch.randn(4096, 64) / 512
    truth, got = truth_of(_Of(routed), [x]), _with_errors_of_a_gpu(x)
    assert not torch.equal(got, routed(x))
    assert compare(truth, got, "faint values") is None
    coarse = routed(x + torch.randn_like(x) * 1e-6)
    assert compare(truth, coarse, "faint values") is not None


def test_a_huge_value_at_the_edge_of_a_step_may_fall_to_either_side() -> None:
    torch.manual_seed(0)
    x = torch.randn(1024, 1024) * 2.0**66  # all of them whole numbers
    got = torch.round(x * (127.0 / x.abs().amax(-1, keepdim=True))).to(torch.int8)
    truth = truth_of(_Of(quantised), [x])
    assert not torch.equal(got, quantised(x))
    assert compare(truth, got, "huge values") is None
    assert compare(truth, got + (torch.rand(got.shape) < 1e-3).to(torch.int8), "huge values") is not None


def test_whole_numbers_that_float32_tells_apart_stay_as_they_are() -> None:
    labels = torch.arange(-4.0, 4.0).repeat(64, 1)
    truth = truth_of(_Of(lambda x: (x > 0.5).to(torch.int32)), [labels])
    assert truth.nearby is not None
    assert torch.equal(truth.nearby(3), (labels > 0.5).to(torch.int32))
