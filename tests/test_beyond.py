"""Magnitudes that no draw has: which inputs have such, and which references bear them."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from tritonsmith.tasks.values import Side
from tritonsmith.verify.reference.beyond import beyond, brink, huge


class _Model(nn.Module):
    def __init__(self, compute: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.compute = compute

    def forward(self, *inputs: object) -> torch.Tensor:
        return self.compute(*inputs)


def _one(found: list[object]) -> torch.Tensor:
    (tensor,) = found
    assert isinstance(tensor, torch.Tensor)
    return tensor


@pytest.mark.parametrize(("side", "least", "most"), [("below", -160.0, -112.0), ("above", 112.0, 160.0)])
def test_values_are_beyond_a_level_on_one_side(side: Side, least: float, most: float) -> None:
    found = _one(beyond(_Model(torch.abs), [torch.randn(64, 33)], 100.0, side))
    assert least <= float(found.min()) < float(found.max()) <= most


def test_values_are_beyond_a_level_on_both_sides() -> None:
    found = _one(beyond(_Model(torch.relu), [torch.rand(64, 33) + 1e-6], 100.0, "either"))
    assert bool((found.abs() > 112.0).all()) and 0.4 < (found > 0).double().mean() < 0.6


def test_a_table_of_two_equal_halves_and_a_triangle_stay_such() -> None:
    half, lower = torch.randn(64, 16), torch.randn(64, 32).tril()
    table, found = beyond(_Model(torch.add), [torch.cat([half, half], dim=-1), lower], 100.0, "either")
    assert isinstance(table, torch.Tensor) and isinstance(found, torch.Tensor)
    assert torch.equal(table[:, :16], table[:, 16:]) and float(table.abs().min()) > 100.0
    assert torch.equal(found != 0, lower != 0)


def test_labels_masks_and_shares_stay_as_they_are() -> None:
    labels, shares = torch.randint(0, 9, (64,)), torch.softmax(torch.randn(64, 9), -1)
    given: list[object] = [torch.randn(64, 9), labels, shares]
    found = beyond(_Model(lambda x, y, z: (x * z).sum(-1) + y), given, 100.0, "above")
    assert found[1] is labels and found[2] is shares
    with pytest.raises(ValueError, match="without bounds"):
        beyond(_Model(lambda y, z: z.sum(-1) + y), [labels, shares], 100.0, "above")


HIDDEN = torch.rand(64, 32) < 0.5


@pytest.mark.parametrize(
    "hides",
    [
        lambda x: torch.softmax(x.masked_fill(HIDDEN, -1e9), -1),
        lambda x: torch.softmax(torch.where(HIDDEN, -1e4, x), -1),
        lambda x: torch.softmax(x + HIDDEN.float() * -10000.0, -1),
        lambda x: torch.softmax(x + torch.full((32, 32), -1e9).triu(1).repeat(2, 1), -1),
    ],
)
def test_what_stands_for_infinity_is_not_reached(hides: Callable[..., torch.Tensor]) -> None:
    """A kernel may take infinity itself there."""
    with pytest.raises(ValueError, match="stands for infinity"):
        beyond(_Model(hides), [torch.randn(64, 32)], 1e5, "below")
    with pytest.raises(ValueError, match="stands for infinity"):
        huge(_Model(hides), [torch.randn(64, 32)])


@pytest.mark.parametrize(
    "bears", [lambda x: torch.relu(x - 1000), lambda x: 2000.0 * x, lambda x: x.clamp(-1e4, 1e4), torch.tanh]
)
def test_a_number_that_is_no_more_than_that_is(bears: Callable[..., torch.Tensor]) -> None:
    assert float(_one(huge(_Model(bears), [torch.randn(64, 32)])).abs().max()) > 2.0**60
    assert float(_one(beyond(_Model(bears), [torch.randn(64, 32)], 1e3, "above")).min()) > 1e3


def test_what_overflows_within_an_operator_is_less_huge() -> None:
    """Of `std`, and of a batch norm of columns, torch's variance on a CPU is one of float64."""
    steps = (lambda x: x.std(1), lambda x: torch.nn.functional.batch_norm(x.t(), None, None, training=True))
    for step in steps:
        assert 2.0**30 < float(_one(huge(_Model(step), [torch.randn(64, 32)])).abs().max()) < 2.0**40


def test_what_overflows_is_less_huge_or_not_at_all() -> None:
    assert 2.0**30 < float(_one(huge(_Model(torch.square), [torch.randn(64, 32)])).abs().max()) < 2.0**40
    for lost in (torch.exp, lambda x: torch.cumprod(x, -1), lambda x: x.sum(-1) - x.flip(-1).cumsum(-1)[:, -1]):
        with pytest.raises(ValueError, match="nothing huge"):
            huge(_Model(lost), [torch.randn(64, 32)])
    with pytest.raises(ValueError, match="nothing huge"):
        huge(_Model(torch.relu), [torch.randn(64, 32).half()])


@pytest.mark.parametrize(
    ("compute", "least", "most"),
    [
        (torch.exp, 80.0, 88.8),
        (lambda x: torch.pow(10.0, x / 20.0), 700.0, 771.0),
        (torch.sinh, 80.0, 89.5),
        (lambda x: torch.exp(x).sum(-1), 80.0, 88.8),
    ],
)
def test_values_come_near_to_where_a_reference_overflows(
    compute: Callable[..., torch.Tensor], least: float, most: float
) -> None:
    model = _Model(compute)
    found = _one(brink(model, [torch.randn(64, 33)]))
    assert least < float(found.abs().max()) < most and bool(model(found).isfinite().all())
    assert float(found.min()) < -least / 2 and float(found.max()) > least / 2


@pytest.mark.parametrize("compute", [torch.tanh, lambda x: torch.softmax(x, -1), torch.square])
def test_what_does_not_overflow_near_has_no_brink(compute: Callable[..., torch.Tensor]) -> None:
    with pytest.raises(ValueError, match="does not overflow"):
        brink(_Model(compute), [torch.randn(64, 33)])


def test_values_beyond_a_level_are_nearer_where_a_reference_overflows_behind_it() -> None:
    found = _one(beyond(_Model(torch.exp), [torch.randn(64, 33)], 80.0, "above"))
    assert 80.0 < float(found.min()) < float(found.max()) < 88.0


def test_half_of_the_values_are_beyond_a_level_behind_which_nothing_is_left() -> None:
    window = _Model(lambda x: torch.clamp(1 - (x / 2000.0) ** 2, min=0.0))
    found = _one(beyond(window, [torch.randn(64, 33)], 2000.0, "either"))
    assert 0.4 < (found.abs() > 2000.0).double().mean() < 0.6
