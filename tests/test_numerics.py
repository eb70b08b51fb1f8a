"""Right answers pass whatever the order of their sums; wrong ones are found and placed."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from tritonsmith.types import Mismatch
from tritonsmith.verify import numerics
from tritonsmith.verify.numerics import FLOOR, Truth, compare
from tritonsmith.verify.reference.truth import truth_of


def _truth(exact: torch.Tensor, dtype: torch.dtype = torch.float32) -> Truth:
    return Truth(exact.double(), exact.to(dtype))


def _matmul(dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor, Truth]:
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(64, 64, generator=generator).to(dtype) for _ in range(2))
    return a, b, Truth(a.double() @ b.double(), a @ b)


def _rejected(truth: Truth, got: object) -> Mismatch:
    mismatch = compare(truth, got, "as given")
    assert mismatch is not None and mismatch.variant == "as given"
    return mismatch


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_the_reference_passes_for_itself(dtype: torch.dtype) -> None:
    a, b, truth = _matmul(dtype)
    assert compare(truth, a @ b, "as given") is None


def test_another_order_of_summation_passes() -> None:
    a, b, truth = _matmul()
    parts = sum(a[:, k : k + 8] @ b[k : k + 8] for k in reversed(range(0, 64, 8)))
    assert compare(truth, parts, "as given") is None


@pytest.mark.parametrize("low", [torch.float16, torch.bfloat16])
def test_lower_precision_operands_are_found(low: torch.dtype) -> None:
    a, b, truth = _matmul()
    assert _rejected(truth, (a.to(low).float() @ b.to(low).float())).index is not None


def test_an_error_below_the_tolerance_but_out_of_proportion_is_found() -> None:
    exact = torch.linspace(1.0, 2.0, 1000, dtype=torch.float64)
    mismatch = _rejected(_truth(exact), (exact * (1 + 2e-5)).float())
    assert "lower precision" in mismatch.message


def test_one_wrong_element_is_placed() -> None:
    exact = torch.ones(4, 6)
    got = exact.clone()
    got[2, 5] = 1.5
    mismatch = _rejected(_truth(exact), got)
    assert (mismatch.index, mismatch.expected, mismatch.got) == ([2, 5], 1.0, 1.5)
    assert mismatch.wrong_share == pytest.approx(1 / 24)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_must_stand_where_the_reference_has_it(value: float) -> None:
    exact = torch.ones(8)
    exact[3] = value
    right = exact.clone()
    assert compare(_truth(exact), right, "as given") is None
    moved = torch.ones(8)
    moved[4] = value
    assert _rejected(_truth(exact), moved).index in ([3], [4])
    assert _rejected(_truth(torch.ones(8)), right).index == [3]


def test_infinities_of_other_signs_differ() -> None:
    assert _rejected(_truth(torch.full((3,), math.inf)), torch.full((3,), -math.inf))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.bool])
def test_integers_are_exact(dtype: torch.dtype) -> None:
    exact = torch.tensor([0, 1, 1]).to(dtype)
    truth = Truth(exact, exact)
    assert compare(truth, exact.clone(), "as given") is None
    assert _rejected(truth, torch.tensor([0, 1, 0]).to(dtype)).index == [2]


def test_an_index_of_a_tie_may_follow_either_precision() -> None:
    truth = Truth(torch.tensor([3, 5]), torch.tensor([3, 6]))
    assert compare(truth, torch.tensor([3, 5]), "as given") is None
    assert compare(truth, torch.tensor([3, 6]), "as given") is None
    assert _rejected(truth, torch.tensor([3, 7])).index == [1]


def test_complex_outputs_are_compared_by_value() -> None:
    exact = torch.randn(16, dtype=torch.complex128)
    truth = Truth(exact, exact.to(torch.complex64))
    assert compare(truth, (exact * (1 + 1e-7)).to(torch.complex64), "as given") is None
    assert _rejected(truth, (exact * 1.01).to(torch.complex64))


@pytest.mark.parametrize(
    ("got", "message"),
    [
        (torch.ones(3, 1), "expected shape"),
        (torch.ones(1), "expected shape"),
        (torch.ones(3, dtype=torch.float64), "expected dtype"),
        ((torch.ones(3),), "expected a tensor"),
        (None, "expected a tensor"),
        (1.0, "expected a tensor"),
    ],
)
def test_form_must_be_equal(got: object, message: str) -> None:
    assert _rejected(_truth(torch.ones(3)), got).message.startswith(message)


def test_the_path_names_the_output() -> None:
    native = {"a": [torch.ones(2), torch.ones(2)]}
    truth = Truth(native, native)
    assert compare(truth, {"a": [torch.ones(2), torch.ones(2)]}, "v") is None
    assert _rejected(Truth(native, native), {"a": [torch.ones(2), torch.zeros(2)]}).output == 'output["a"][1]'


@pytest.mark.parametrize("got", [{"b": torch.ones(2)}, {}, [torch.ones(2)], None])
def test_a_dict_needs_its_keys(got: object) -> None:
    native = {"a": torch.ones(2)}
    assert _rejected(Truth(native, native), got).message.startswith("expected a dict")


@pytest.mark.parametrize("got", [(torch.ones(2),), (torch.ones(2),) * 3, torch.ones(2), None])
def test_a_tuple_needs_its_length(got: object) -> None:
    native = (torch.ones(2), torch.ones(2))
    assert _rejected(Truth(native, native), got).message.startswith("expected 2 outputs")


def test_scalars_compare() -> None:
    assert compare(Truth(2.0, 2.0), 2.0 + 1e-9, "v") is None
    assert compare(Truth(2, 2), 2, "v") is None
    assert _rejected(Truth(2.0, 2.0), 2.1)
    assert _rejected(Truth("a", "a"), "b")
    assert _rejected(Truth(1.0, 1.0), math.nan)


def test_empty_tensors_need_only_their_shape() -> None:
    assert compare(_truth(torch.empty(0, 3)), torch.empty(0, 3), "v") is None


@pytest.mark.parametrize("scale", [1e-20, 1e-6, 1.0, 1e6, 1e20])
def test_scale_does_not_matter(scale: float) -> None:
    exact = torch.randn(100, dtype=torch.float64) * scale
    assert compare(_truth(exact), exact.float(), "v") is None
    assert _rejected(_truth(exact), (exact * 1.01).float())


def test_zeros_must_be_zeros() -> None:
    truth = _truth(torch.zeros(10))
    assert compare(truth, torch.zeros(10), "v") is None
    assert _rejected(truth, torch.full((10,), 1e-3))


def test_a_small_element_beside_large_ones_may_be_rounded_as_they_are() -> None:
    exact = torch.tensor([1e4, 1e-3], dtype=torch.float64)
    assert compare(_truth(exact), torch.tensor([1e4, 1.3e-3]), "v") is None


def test_a_reference_that_overflows_in_its_dtype_is_matched_there() -> None:
    truth = Truth(torch.tensor([1e6, 1.0], dtype=torch.float64), torch.tensor([math.inf, 1.0], dtype=torch.float16))
    assert compare(truth, torch.tensor([math.inf, 1.0], dtype=torch.float16), "v") is None
    assert _rejected(truth, torch.tensor([6e4, 1.0], dtype=torch.float16))


def test_where_only_float64_is_not_finite_nothing_else_is_forgiven() -> None:
    native = torch.ones(64)
    exact = native.double()
    exact[0] = torch.inf
    got = native.clone()
    got[5] = 1.5
    assert compare(Truth(exact, native), native, "as given") is None
    assert compare(Truth(exact, native), got, "as given") is not None


def test_an_end_that_fades_must_be_right_by_its_own_measure() -> None:
    exact = torch.randn(64, 200, generator=torch.Generator().manual_seed(0)).double().cumprod(1)
    short = exact.float()
    short[:, 60:] = 0.0
    assert "slice" in _rejected(_truth(exact), short).message
    assert compare(_truth(exact), exact.float() * (1 + 1e-6), "as given") is None


class Greatest(nn.Module):
    """The greatest value of each row and its place."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.max(x, dim=-1)


def test_places_of_equal_halves_may_be_others_but_not_their_values() -> None:
    x = torch.rand(64, 4).half()
    x[:12, 3] = x[:12, 1]
    settled = 40
    x[0], x[settled] = torch.tensor([[0.25, 0.75, 0.5, 0.75], [0.25, 0.75, 0.5, 0.375]]).half()
    truth = truth_of(Greatest(), [x])
    values, places = torch.max(x, dim=-1)
    other = torch.where((places == 1) & (torch.arange(64) < 12), 3, places)
    assert not torch.equal(other, places)
    assert compare(truth, (values, other), "float16") is None
    assert _rejected(truth, (values + 0.5, other)).output == "output[0]"
    other[settled] = (other[settled] + 1) % 4
    assert _rejected(truth, (values, other)).output == "output[1]"


def test_integers_at_the_edge_of_a_step_may_be_their_neighbours() -> None:
    class Rounded(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.round(x / 3.0).int()

    x = torch.linspace(-9.0, 9.0, 601)
    x[::100] = 4.5000005
    truth = truth_of(Rounded(), [x])
    got = torch.round(x / 3.0).int()
    got[::100] = 1
    assert compare(truth, got, "as given") is None
    got[140] += 1
    assert _rejected(truth, got).wrong_share == pytest.approx(8 / 601)


class Mean(nn.Module):
    """The mean of everything."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean()


class MeanOfProduct(nn.Module):
    """The mean of a product of matrices."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return (a @ b).mean()


def test_a_sum_that_runs_over_very_much_may_round_as_running_sums_do() -> None:
    summed = 1 << 24
    exact = torch.ones((), dtype=torch.float64)
    got = (exact * (1 + 2e-5)).float()
    assert "lower precision" in _rejected(Truth(exact, exact.float()), got).message
    assert compare(Truth(exact, exact.float(), summed=summed), got, "as given") is None
    assert _rejected(Truth(exact, exact.float(), summed=summed), (exact * (1 + 5e-5)).float())
    # Beside many outputs each is a sum of few, and half precision is no place for running sums.
    many = torch.linspace(1.0, 2.0, 1000, dtype=torch.float64)
    assert _rejected(Truth(many, many.float(), summed=summed), (many * (1 + 2e-5)).float())


@pytest.mark.parametrize("kind", ["uniform", "squares", "clipped"])
@pytest.mark.parametrize("log2", [20, 22, 24, 26, 28])
def test_running_sums_of_blocks_pass_and_are_not_all_that_passes(kind: str, log2: int) -> None:
    """As a kernel with 1024 elements a program adds them by atomics; a block's sum is drawn as a normal one."""
    elements, block = 1 << log2, 1024
    generator = torch.Generator().manual_seed(log2)
    mean, spread = {"uniform": (0.5, 12**-0.5), "squares": (1.0, 2**0.5), "clipped": (0.55, 0.6)}[kind]
    normal = torch.randn(elements // block, generator=generator, dtype=torch.float64)
    parts = ((mean + spread * normal / block**0.5) * block / elements).float()
    exact, running = parts.double().sum(), torch.from_numpy(parts.numpy().cumsum(dtype="float32"))[-1]
    truth = Truth(exact, exact.float(), summed=elements)
    assert compare(truth, running, "as given") is None
    if log2 < 28:  # there the tolerance alone is left
        assert _rejected(truth, running * (1 + 1e-4))


@pytest.mark.parametrize("low", [torch.float16, torch.bfloat16])
def test_a_running_sum_in_half_precision_is_found(low: torch.dtype) -> None:
    parts = torch.rand(1 << 12, generator=torch.Generator().manual_seed(0)).double()
    running = torch.zeros((), dtype=low)
    for part in parts.to(low):
        running += part
    exact = parts.sum()
    assert _rejected(Truth(exact, exact.float(), summed=1 << 24), running.float())


def test_where_matrices_are_multiplied_nothing_is_forgiven() -> None:
    x = torch.rand(1 << 10, 1 << 10)
    assert truth_of(Mean(), [x]).summed == 1 << 20
    assert truth_of(Mean(), [x[1:]]).summed == 0
    assert truth_of(MeanOfProduct(), [x, x[:, :8]]).summed == 0
    assert truth_of(nn.ReLU(), [x]).summed == 0


@pytest.mark.parametrize("stable", [False, True])
def test_places_of_ties_that_a_reference_makes_are_any_of_them(stable: bool) -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sort(x.relu(), stable=stable, dim=-1).indices

    x = torch.cat([torch.arange(1.0, 5.0), -torch.rand(12)])[None]
    truth = truth_of(Model(), [x])
    zeros, rest = truth.native[:, :12], truth.native[:, 12:]  # type: ignore[index]
    assert (compare(truth, torch.cat([zeros.flip(1), rest], 1), "v") is None) == (not stable)
    assert compare(truth, torch.cat([zeros, rest.flip(1)], 1), "v") is not None


class Router(nn.Module):
    """The three most probable."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.topk(torch.softmax(x, -1), 3).indices


ROUTED = torch.tensor([[0.0, 60.0, -200.0, -300.0, 0.3, -250.0, -400.0, -220.0]]).expand(40, 8).contiguous()
"""Places 1, 4 and 0 lead; with 2000 more for place 1 all but that are zero."""


@pytest.mark.parametrize(("third", "right"), [(0, True), (7, True), (4, False), (8, False), (-1, False)])
def test_a_place_behind_ordered_ones_is_any_that_holds_an_equal_value(third: int, right: bool) -> None:
    x = ROUTED.clone()
    x[:, 0] = -500.0
    truth = truth_of(Router(), [x])
    got = torch.tensor([[1, 4, third]]).expand(40, 3)
    assert (compare(truth, got, "v") is None) is right


def test_a_place_that_holds_less_is_wrong() -> None:
    truth = truth_of(Router(), [ROUTED / 30])
    assert compare(truth, torch.tensor([[1, 4, 2]]).expand(40, 3), "v") is not None


@pytest.mark.parametrize(("seen_at", "right"), [(3, True), (70, True), (None, False)])
def test_a_step_that_rounding_seldom_moves_is_looked_for_longer(seen_at: int | None, right: bool) -> None:
    """One quantised value in 262,144 had an honest kernel refused on a GPU; a wrong one is in no run."""
    steps = torch.arange(4000, dtype=torch.int32).remainder(100)

    def nearby(number: int) -> torch.Tensor:
        moved = steps.clone()
        moved[:10] += number % 2
        moved[2000] += number == seen_at
        return moved

    got = steps.clone()
    got[2000] += 1
    assert (compare(Truth(steps.double(), steps, nearby), got, "as given") is None) is right
    got[2000] += 1
    _rejected(Truth(steps.double(), steps, nearby), got)


def test_faint_values_may_be_rounded_as_numbers_about_one_are() -> None:
    """`exp(x) - 1` of what is next to nothing, for torch's `expm1`; zeros are wrong there all the same."""
    x = 2.0**-14 * torch.randn(512, generator=torch.Generator().manual_seed(0))
    truth = Truth(torch.expm1(x.double()), torch.expm1(x))
    assert compare(truth, x.exp() - 1.0, "v") is not None
    faint = replace(truth, floor=FLOOR)
    assert compare(faint, x.exp() - 1.0, "v") is None
    assert compare(faint, torch.zeros_like(x), "v") is not None


def _looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is looked at element by element from here on."""
    looked: list[str] = []
    for name in ("_errors", "neglected"):
        kept = getattr(numerics, name)
        monkeypatch.setattr(numerics, name, lambda *args, kept=kept, name=name: looked.append(name) or kept(*args))
    return looked


def test_two_numbers_settle_what_is_right_throughout(monkeypatch: pytest.MonkeyPatch) -> None:
    looked, x = _looked_at(monkeypatch), torch.randn(64, 48, 40, dtype=torch.float64)
    truth = Truth(x, x.float())
    assert compare(truth, x.float() * (1 + 1e-7), "as given") is None
    assert not looked
    got = x.float()
    got[3, 4, 5] += 1.0
    assert compare(truth, got, "as given") is not None
    assert looked


@pytest.mark.parametrize("strange", [math.nan, math.inf, -math.inf])
def test_no_two_numbers_settle_an_answer_that_is_no_number_somewhere(strange: float) -> None:
    x = torch.randn(64, 48, dtype=torch.float64)
    own, got = x.clone(), x.float()
    own[1, 2], got[1, 2] = strange, strange
    assert compare(Truth(own, own.float()), got, "as given") is None
    assert compare(Truth(x, x.float()), got, "as given") is not None
    assert compare(Truth(own, own.float()), x.float(), "as given") is not None


def test_a_faint_slice_is_looked_at_though_every_error_is_small() -> None:
    x = torch.randn(64, 48, dtype=torch.float64)
    x[7] *= 1e-7
    got = x.float()
    got[7] = 0.0
    found = compare(Truth(x, x.float()), got, "as given")
    assert found is not None and "slice 7 of dimension 0" in found.message
    assert compare(Truth(x, x.float(), faint=False), got, "as given") is None
