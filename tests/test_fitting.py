"""Inputs of which only the reference can tell whether it may be judged on them."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from tritonsmith.verify.reference.fitting import other_constants, small


class _Model(nn.Module):
    def __init__(self, compute: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.compute = compute

    def forward(self, *inputs: object) -> torch.Tensor:
        return self.compute(*inputs)


def _others(compute: Callable[..., torch.Tensor], *constants: object, numbers: bool = False) -> list[object]:
    one, two = [torch.randn(8, 4), *constants], [torch.randn(8, 4), *constants]
    found = other_constants(lambda: _Model(compute), one, two, numbers)
    assert found[0] is one[0]
    return found


def test_a_table_is_changed_and_a_number_only_where_numbers_are_asked_for() -> None:
    def compute(x: torch.Tensor, places: torch.Tensor, factor: float) -> torch.Tensor:
        return x[places] * factor

    found = _others(compute, torch.arange(8), 2.0)
    assert not torch.equal(found[1], torch.arange(8)) and found[2] == 2.0  # type: ignore[arg-type]
    found = _others(compute, torch.arange(8), 2.0, numbers=True)
    assert torch.equal(found[1], torch.arange(8)) and found[2] == 3.0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "compute",
    [
        lambda x, flag: 2 * x,
        lambda x, flag: 2 * (x.sum(0, keepdim=True) if flag else x),
        lambda x, flag: 2 * x if flag else x,
        lambda x, flag: 2 * x if flag else torch.dropout(x, 0.5, True),
        lambda x, flag: 2 * x if flag else x / 0,
        lambda x, flag: 2 * x if flag else x.nothing,
    ],
    ids=["unread", "form", "passed-on", "random", "not-finite", "fails"],
)
def test_a_flag_that_names_another_task_is_left(compute: Callable[..., torch.Tensor]) -> None:
    with pytest.raises(ValueError):
        _others(compute, True, numbers=True)


def test_an_answer_that_differs_by_rounding_alone_is_no_other() -> None:
    orders = iter(range(1000))

    def added_up(x: torch.Tensor, table: torch.Tensor) -> torch.Tensor:  # as atomics do, never twice in one order
        return x * (1 + 2e-7 * (next(orders) % 3))

    with pytest.raises(ValueError, match="depends on no constant"):
        _others(added_up, torch.arange(8))


def test_inputs_that_all_change_have_no_constants() -> None:
    with pytest.raises(ValueError):
        _others(lambda x: 2 * x)


def _norm(x: torch.Tensor, eps: float) -> torch.Tensor:
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


def test_a_slice_of_zeros_is_tried_where_the_reference_bears_it() -> None:
    found = small(_Model(lambda x: _norm(x, 1e-6)), [torch.randn(8, 64)])
    assert not found[0][-1].any()  # type: ignore[index]
    found = small(_Model(lambda x: _norm(x, 0.0)), [torch.randn(8, 64)])
    assert found[0][-1].all()  # type: ignore[index]


def test_small_values_are_not_judged_where_they_are_lost_in_rounding() -> None:
    with pytest.raises(ValueError):
        small(_Model(lambda x: (1 + 1e-3 * x) - 1), [1e-4 * torch.randn(8, 64)])
