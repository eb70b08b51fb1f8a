"""An answer in floats that hangs on which of equal values comes first is found to do so."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from tritonsmith.verify.reference.truth import hangs_on_ties

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
