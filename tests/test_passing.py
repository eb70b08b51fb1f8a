"""What a reference passes on, and what it computes."""

import torch
from torch import nn

from tritonsmith.verify.reference.passing import Passed, passed


class Rotary(nn.Module):
    """A product, a slice of a table that is no buffer, a weight, an input and a number of positions."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.rand(8)
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        positions = torch.arange(x.shape[0]).float().sin()
        return x * self.table, self.table[:4], self.scale, x.view(-1), torch.cat([x, x]), positions


class Moved(nn.Module):
    """The input and its transpose."""

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"x": x, "t": x.t().contiguous()}


class Filled(nn.Module):
    """A tensor that is computed in place, and a cast of it."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.zeros_like(x)
        y.add_(x)
        return y, y.double()


def test_what_takes_no_computing_is_free_and_what_was_there_is_old() -> None:
    assert passed(Rotary(), [torch.rand(3, 8)]) == Passed(frozenset({1, 2, 3, 4, 5}), frozenset({1, 2, 3}), reads=True)


def test_where_moving_is_the_task_only_what_stays_is_free() -> None:
    assert passed(Moved(), [torch.rand(3, 8)]) == Passed(frozenset({0}), frozenset({0}), moving=True, reads=True)


def test_what_is_computed_in_place_is_computed() -> None:
    assert passed(Filled(), [torch.rand(3, 8)]) == Passed(reads=True)


class Table(nn.Module):
    """A table that the sizes tell."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cos(torch.arange(x.shape[0]))


def test_what_the_sizes_tell_reads_nothing() -> None:
    assert not passed(Table(), [torch.rand(3, 8)]).reads
