"""Inputs at the edges of what a task is for: which a reference has, and which it bears."""

import functools
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tritonsmith.tasks.trees import finite
from tritonsmith.tasks.values import Values
from tritonsmith.verify import numerics
from tritonsmith.verify.reference.edges import at_ends, halfway, infinite, marked, nans, next_to_nothing, settled
from tritonsmith.verify.reference.truth import truth_of


class _Model(nn.Module):
    def __init__(self, compute: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.compute = compute

    def forward(self, *inputs: object) -> torch.Tensor:
        return self.compute(*inputs)


def _found(
    make: Callable[[nn.Module, list[object]], list[object]],
    compute: Callable[..., torch.Tensor],
    *inputs: torch.Tensor,
) -> list[torch.Tensor]:
    found = make(_Model(compute), list(inputs))
    assert all(isinstance(one, torch.Tensor) for one in found)
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("values", ["beyond", "huge"])
def test_an_answer_that_is_next_to_nothing_is_not_asked_for(values: Values) -> None:
    """Far below zero mish is x log(1 + e^x), of which an honest kernel has no digit left."""
    inputs: list[object] = [-22.0 - 10.0 * torch.rand(64, 33)]
    faint, other = (_Model(compute) for compute in (F.mish, torch.abs))
    with pytest.raises(ValueError, match="next to nothing"):
        settled(values, faint, inputs, truth_of(faint, inputs))
    assert settled(values, other, inputs, truth_of(other, inputs)).faint


@pytest.mark.parametrize(
    "compute",
    [
        lambda x, y: torch.nan_to_num(x, posinf=1.0, neginf=0.0) + y,
        lambda x, y: torch.isfinite(x).all(-1),
        lambda x, y: torch.isinf(x) & (y > 0),
        lambda x, y: torch.where(x.abs() == float("inf"), y, x),
        lambda x, y: torch.where(x == float("inf"), y, x.clamp(min=0.0)),
        lambda x, y: torch.where(torch.isposinf(x), y, x).exp(),
        lambda x, y: torch.where(torch.isneginf(x), y, -x).exp(),
    ],
)
def test_infinities_are_among_what_is_looked_through_for_them(compute: Callable[..., torch.Tensor]) -> None:
    x, y = _found(infinite, compute, torch.randn(64, 48), torch.randn(64, 48))
    assert bool(torch.isinf(x).any()) and 0 < torch.isinf(x).double().mean() < 0.1 and finite(y)


def _guarded(scores: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    return torch.nan_to_num(torch.softmax(scores.masked_fill(keep == 0, -torch.inf), dim=-1))


@pytest.mark.parametrize("compute", [_guarded, lambda x, y: 2 * x, lambda x, y: x.masked_fill(torch.isinf(x), 0) * x])
def test_infinities_are_not_among_what_nobody_looks_through(compute: Callable[..., torch.Tensor]) -> None:
    with pytest.raises(ValueError):
        _found(infinite, compute, torch.randn(64, 48), torch.ones(64, 48))


def test_the_largest_number_of_its_kind_is_the_truth_for_an_infinity() -> None:
    x = torch.tensor([1.0, torch.inf, -torch.inf, 2.0])
    truth = truth_of(_Model(torch.nan_to_num), [x])
    assert numerics.compare(truth, torch.nan_to_num(x), "v") is None
    assert numerics.compare(truth, x, "v") is not None


def _pooled(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    return (x * keep).sum(-1) / keep.sum(-1).clamp(min=1.0)


def _weighed(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    return _pooled(torch.softmax(x.masked_fill(keep == 0, -1e9), -1), keep)


def _filled_by_a_tensor(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    return _pooled(torch.softmax(torch.where(keep == 0, torch.tensor(-1e9), x), -1), keep)


def _added(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    return _pooled(torch.softmax(x + (1 - keep) * -10000.0, -1), keep)


def test_a_mask_whose_count_is_guarded_may_keep_nothing() -> None:
    x, mask = torch.randn(64, 48), (torch.rand(64, 48) > 0.3).float()
    _, found = _found(at_ends, _pooled, x, mask)
    assert 0 < (found.sum(-1) == 0).double().mean() < 0.6
    _, found = _found(at_ends, _guarded, x, mask)
    assert bool((found.sum(-1) == 0).any())


@pytest.mark.parametrize("compute", [_weighed, _filled_by_a_tensor, _added, lambda x, keep: (x * keep).sum(-1)])
def test_a_mask_that_hides_scores_keeps_something(compute: Callable[..., torch.Tensor]) -> None:
    with pytest.raises(ValueError):
        _found(at_ends, compute, torch.randn(64, 48), (torch.rand(64, 48) > 0.3).float())


def test_some_labels_are_those_that_the_loss_leaves_out() -> None:
    x, y = torch.randn(64, 10), torch.randint(0, 10, (64,))
    same, found = _found(at_ends, lambda x, y: F.cross_entropy(x, y, ignore_index=-7), x, y)
    assert torch.equal(same, x) and set(found.tolist()) <= {-7, *range(10)} and 0 < int((found == -7).sum()) < 40


@pytest.mark.parametrize("power", [1.0, 16.0, 0.25])
def test_halves_are_exact_where_a_power_of_two_is_rounded(power: float) -> None:
    (found,) = _found(halfway, lambda x: torch.round(x * power).clamp(-128, 127), 8 * torch.randn(64, 48))
    assert torch.equal((found * power) % 1, torch.full_like(found, 0.5))


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: torch.round(x / 0.05),
        lambda x: torch.round(x) + torch.round(x * x / 3),
        lambda x: torch.round(x, decimals=2),
        lambda x: torch.floor(x),
    ],
)
def test_there_are_no_halves_where_anything_else_is_rounded(compute: Callable[..., torch.Tensor]) -> None:
    with pytest.raises(ValueError):
        _found(halfway, compute, torch.randn(64, 48))


def test_a_half_as_a_whole_number_does_not_hang_on_rounding() -> None:
    model = _Model(lambda x: torch.round(x).int())
    inputs: list[object] = [torch.arange(32) + 0.5]
    truth = settled("halves", model, inputs, truth_of(model, inputs))
    assert numerics.compare(truth, torch.floor(torch.arange(32) + 1.0).int(), "v") is not None


def test_values_that_are_no_numbers_in_float64_are_not_judged() -> None:
    """A running product that underflows in float32 stays zero; in float64 it comes back and has no end."""
    model = _Model(lambda x: functools.reduce(torch.mul, x.unbind(-1)))
    inputs: list[object] = [torch.cat([torch.full((2, 40), 1e-2), torch.full((2, 20), 1e30)], -1)]
    truth = truth_of(model, inputs)
    settled(None, model, inputs, truth)
    with pytest.raises(ValueError, match="rounding"):
        settled("rising", model, inputs, truth)


def test_steps_of_a_scale_that_are_found_from_halves_hang_on_rounding() -> None:
    """As a GPU's quotient falls to either side of a tie; a quotient in half precision is another matter."""
    x = torch.randn(64, 384).half()
    most = x.abs().amax(-1, keepdim=True)
    x[:, :1] = most
    x[:, 1:9] = most / 128
    model = _Model(lambda x: torch.round(64 * (x.float() / x.float().abs().amax(-1, keepdim=True))).to(torch.int8))
    truth = truth_of(model, [x])
    above = torch.round(64 * (x.float() / most.float() * (1 + 1e-7))).to(torch.int8)
    assert not torch.equal(above, truth.native) and numerics.compare(truth, above, "v") is None
    halved = torch.round(64 * (x / most)).to(torch.int8)
    assert numerics.compare(truth, halved, "v") is not None


@pytest.mark.parametrize("values", ["sparse", "small"])
def test_a_whole_number_that_comes_of_none_is_not_judged(values: Values) -> None:
    x = torch.randn(64, 48)
    x[-1] = 0
    model = _Model(lambda x: (100 * x / x.abs().amax(-1, keepdim=True)).to(torch.int8))
    for given, judged in ((x[:-1], True), (x, False)):
        truth = truth_of(model, [given])
        if judged:
            settled(values, model, [given], truth)
        else:
            with pytest.raises(ValueError):
                settled(values, model, [given], truth)


def test_signs_are_not_tried_where_the_answer_is_no_number_then() -> None:
    model = _Model(torch.sqrt)
    inputs: list[object] = [torch.rand(64, 48) - 0.5]
    with pytest.raises(ValueError):
        settled("mixed", model, inputs, truth_of(model, inputs))


class Marks(nn.Module):
    def forward(self, x: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        return x.masked_fill(x == -100.0, 0.0) * (ids != 7).float().mean()


def test_numbers_that_inputs_are_compared_with_are_among_them() -> None:
    x, ids = torch.randn(16, 16), torch.randint(100, 200, (32,))
    values, words = marked(Marks(), [x, ids])
    assert isinstance(values, torch.Tensor) and isinstance(words, torch.Tensor)
    assert 0 < int((values == -100.0).sum()) < 64 and int((words == 7).sum()) > 0
    assert torch.equal(values[values != -100.0], x[values != -100.0])


def test_what_compares_nothing_has_no_marks() -> None:
    with pytest.raises(ValueError, match="compares no input"):
        marked(nn.ReLU(), [torch.randn(4, 4)])


class Marked(nn.Module):
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return torch.eye(9)[ids] * (ids != -20).unsqueeze(-1)


def test_marks_that_are_no_index_are_not_tried() -> None:
    with pytest.raises(IndexError):
        marked(Marked(), [torch.randint(0, 9, (32,))])


@pytest.mark.parametrize(
    ("compute", "lost"),
    [
        (lambda x, y: torch.where(x.isnan(), y, x), (True, False)),
        (lambda x, y: torch.where(x != x, 0.0, x) + torch.nan_to_num(y), (True, True)),
        (torch.fmax, (True, False)),
    ],
)
def test_no_numbers_are_in_each_input_that_bears_them(
    compute: Callable[..., torch.Tensor], lost: tuple[bool, bool]
) -> None:
    found = _found(nans, compute, torch.randn(64, 48), torch.randn(64, 48))
    assert tuple(bool(one.isnan().any()) for one in found) == lost


def test_a_reference_that_passes_them_on_bears_no_no_numbers() -> None:
    with pytest.raises(ValueError, match="bears no NaN"):
        nans(_Model(torch.add), [torch.randn(64, 48), torch.randn(64, 48)])


@pytest.mark.parametrize(
    ("compute", "other"),
    [
        (lambda y: (y >= 0).sum(), -1),
        (lambda y: (y < 9).sum(), 9),
        (lambda y: (y > -1).sum(), -1),
        (lambda y: (y <= 8).sum(), 9),
    ],
)
def test_whole_numbers_are_on_both_sides_of_what_they_are_compared_with(
    compute: Callable[..., torch.Tensor], other: int
) -> None:
    (found,) = _found(marked, compute, torch.randint(0, 9, (200,)))
    assert bool((found == other).any()) and set(found.tolist()) <= {*range(9), other}


def test_what_is_on_both_sides_stays() -> None:
    with pytest.raises(ValueError, match="compares no input"):
        marked(_Model(lambda y: (y > 4).sum()), [torch.arange(9)])


@pytest.mark.filterwarnings("error")
def test_an_imaginary_answer_is_something() -> None:
    assert not next_to_nothing(torch.full((4,), 2j)) and next_to_nothing(torch.full((4,), 1e-9j))
