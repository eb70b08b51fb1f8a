"""The inputs a candidate is tried on: labels, sizes, precisions, distributions, layouts, and what tasks rely on."""

from collections.abc import Callable
from typing import cast

import pytest
import torch
from judging import DOUBLE

from tritonsmith.tasks.format import TaskModule
from tritonsmith.tasks.rescaling import bounded_by_arguments
from tritonsmith.tasks.trees import finite, map_tensors
from tritonsmith.tasks.values import LARGE, Values, without_last
from tritonsmith.tasks.variants import Variant, adapt, hardeners, odd_sizes, usable, variants
from tritonsmith.types import Task


def test_off_means_the_task_as_given() -> None:
    assert [variant.label for variant in variants(DOUBLE, multi_input=False)] == ["as given"]


def test_on_means_five_and_those_beyond() -> None:
    labels = [variant.label for variant in variants(DOUBLE, multi_input=True, strided=True)]
    assert labels[:5] == ["as given", "values x2", "another seed", "larger dimensions", "float16"]
    assert labels[5:] == [
        "odd sizes",
        "negative values",
        "large values",
        "sparse values",
        "small values",
        "faint values",
        "values x4",
        "positive values",
        "coarse values",
        "other masks",
        "signed values",
        "huge values",
        "equal inputs told apart",
        "other constants",
        "other numbers",
        "other weights",
        "a batch of one",
        "strided storage",
        "new contents in the same storage",
    ]


@pytest.mark.parametrize("multi_input", [False, True])
def test_what_hardens_a_task_is_added_once(multi_input: bool) -> None:
    wanted = {variant.label for variant in hardeners(DOUBLE)}
    labels = [variant.label for variant in variants(DOUBLE, multi_input, also=wanted)]
    assert wanted <= set(labels) and len(set(labels)) == len(labels)


@pytest.mark.parametrize(("growth", "shape"), [(2.0, (128, 96)), (1.25, (80, 60))])
def test_dimensions_grow_together(growth: float, shape: tuple[int, ...]) -> None:
    larger = next(v for v in variants(DOUBLE, True, growth) if v.label == "larger dimensions")
    drawn = TaskModule.of(larger.task).inputs(0)[0]
    assert isinstance(drawn, torch.Tensor) and tuple(drawn.shape) == shape


def test_small_constants_do_not_grow() -> None:
    task = DOUBLE.model_copy(update={"source": DOUBLE.source.replace("64, 48", "64, 3")})
    larger = next(v for v in variants(task, True) if v.label == "larger dimensions")
    assert "torch.randn(128, 3)" in larger.task.source


def test_values_are_scaled_and_integers_left() -> None:
    floats, integers = torch.ones(3), torch.ones(3, dtype=torch.int64)
    scaled = adapt([floats, [integers]], Variant("v", DOUBLE, factor=2.0))
    assert torch.equal(scaled[0], 2 * floats)  # type: ignore[arg-type]
    assert torch.equal(scaled[1][0], integers)  # type: ignore[index]
    assert torch.equal(floats, torch.ones(3))


def test_precision_changes_floats_alone() -> None:
    cast = adapt([torch.ones(3), torch.ones(3, dtype=torch.int64), 2.5], Variant("v", DOUBLE, dtype=torch.float16))
    assert cast[0].dtype == torch.float16 and cast[1].dtype == torch.int64 and cast[2] == 2.5  # type: ignore[attr-defined]


def test_map_reaches_every_tensor_and_keeps_the_form() -> None:
    tree = {"a": [torch.ones(1), (torch.ones(1), None)], "b": "text"}
    mapped = map_tensors(tree, lambda tensor: tensor + 1)
    assert mapped == {"a": [torch.tensor([2.0]), (torch.tensor([2.0]), None)], "b": "text"}


def _task(inputs: str, forward: str = "return 2.0 * x") -> Task:
    source = DOUBLE.source.replace("return 2.0 * x", forward).replace("torch.randn(64, 48)", inputs)
    return DOUBLE.model_copy(update={"source": source})


def _drawn(task: Task | None) -> torch.Tensor:
    assert task is not None
    drawn = TaskModule.of(task).inputs(0)[0]
    assert isinstance(drawn, torch.Tensor)
    return drawn


def test_odd_sizes_are_no_multiple_of_two() -> None:
    assert tuple(_drawn(odd_sizes(DOUBLE)).shape) == (63, 47)


def test_odd_sizes_keep_what_the_reference_needs() -> None:
    grouped = _task("torch.randn(64, 48)", "return x.view(8, -1, x.shape[1]).sum(1)")
    assert tuple(_drawn(odd_sizes(grouped)).shape) == (56, 42)


@pytest.mark.parametrize(
    "task", [_task("torch.randn(8, 4)"), _task("torch.randn(64, 48)", "assert x.shape[0] == 64; return x")]
)
def test_without_odd_sizes_there_is_no_such_variant(task: Task) -> None:
    assert odd_sizes(task) is None
    assert "odd sizes" not in [variant.label for variant in variants(task, multi_input=True)]


def test_a_reference_that_looks_at_its_values_has_odd_sizes_too() -> None:
    assert odd_sizes(_task("torch.randn(64, 48)", "return x * float(x.max())")) is not None


def _redistributed(tensor: torch.Tensor, values: Values) -> torch.Tensor:
    changed = adapt([tensor], Variant("v", DOUBLE, values=values))[0]
    assert isinstance(changed, torch.Tensor) and changed.shape == tensor.shape and changed.dtype == tensor.dtype
    return changed


def _normal() -> torch.Tensor:
    return torch.randn(64, 48, generator=torch.Generator().manual_seed(0))


def test_negative_values_are_negative() -> None:
    assert torch.equal(_redistributed(_normal(), "negative"), -_normal().abs())


def test_large_values_are_large() -> None:
    assert torch.equal(_redistributed(_normal(), "large"), LARGE * _normal())


def test_sparse_values_are_mostly_zero_and_else_as_they_were() -> None:
    sparse = _redistributed(_normal(), "sparse")
    kept = sparse != 0
    assert 0.05 < kept.double().mean() < 0.2 and torch.equal(sparse[kept], _normal()[kept])


def test_positive_values_are_positive_in_their_order() -> None:
    positive, before = _redistributed(_normal(), "positive"), _normal()
    assert float(positive.min()) > 0 and float(positive.mean()) > 2 * float(positive.std())
    assert torch.equal(positive.flatten().argsort(), before.flatten().argsort())


def test_coarse_values_are_often_equal_and_never_whole() -> None:
    coarse = _redistributed(_normal(), "coarse")
    assert len(coarse.unique()) < 64 and not bool((coarse == coarse.round()).any())
    torch.testing.assert_close(coarse, _normal(), atol=0.126, rtol=0)


@pytest.mark.parametrize("values", ["positive", "coarse", "negative", "rising"])
def test_what_is_left_out_of_a_triangle_stays_zero(values: Values) -> None:
    lower = _redistributed(_normal().tril(), values)
    assert torch.equal(lower != 0, _normal().tril() != 0)


def test_what_is_left_out_of_a_triangle_that_rand_draws_stays_zero() -> None:
    lower = torch.rand(64, 48, generator=torch.Generator().manual_seed(0)).clamp(min=1e-3).tril()
    for mixed in (adapt([lower], Variant("v", DOUBLE, values="mixed"))[0], _redistributed(lower, "signed")):
        assert isinstance(mixed, torch.Tensor) and float(mixed.min()) < 0 < float(mixed.max())
        assert not bool(mixed[lower == 0].any())


@pytest.mark.parametrize("values", ["negative", "rising", "far below", "far above", "sparse", "large"])
def test_boundaries_stay_in_order(values: Values) -> None:
    rising = _normal().sort().values
    found = adapt([rising], Variant("v", DOUBLE, values=values))[0]
    assert isinstance(found, torch.Tensor) and not torch.equal(found, rising) and bool((found.diff() >= 0).all())


@pytest.mark.parametrize("values", ["positive", "coarse"])
def test_values_that_are_bound_are_no_other_draw(values: Values) -> None:
    with pytest.raises(ValueError, match="without bounds"):
        adapt([torch.ones(64, 48)], Variant("v", DOUBLE, values=values))


def test_small_values_are_small_slice_by_slice() -> None:
    ratios = _redistributed(_normal(), "small") / _normal()
    assert torch.equal(ratios, ratios[:, :1].expand(-1, 48)) and bool((ratios <= 2.0**-4).all())
    assert float(_redistributed(_normal()[:1], "small").abs().max()) < 1e-3


def test_a_symmetric_matrix_stays_symmetric() -> None:
    square = _normal() @ _normal().T
    square = square + square.T
    small, zeroed = _redistributed(square, "small"), without_last(square)
    assert torch.equal(small, small.T) and bool((small.abs() <= 2.0**-4 * square.abs()).all())
    assert torch.equal(zeroed, zeroed.T) and torch.equal(zeroed[:-1, :-1], square[:-1, :-1]) and not zeroed[-1].any()


def test_zeros_take_the_last_slice_of_what_is_not_positive() -> None:
    assert not without_last(_normal())[-1].any() and without_last(_normal())[:-1].all()
    for kept in (_normal().exp(), _normal().sign(), torch.arange(48), torch.tensor(0.5)):
        assert torch.equal(without_last(kept), kept)


def test_a_slice_of_what_rand_draws_becomes_zero_also_where_slices_were_made_small() -> None:
    drawn = torch.rand(8, 48, generator=torch.Generator().manual_seed(0)) + 1e-6
    for given in (drawn, _redistributed(drawn, "small")):
        assert float(given.min()) > 0 and not without_last(given)[-1].any()


def test_inputs_that_are_equal_are_told_apart() -> None:
    apart = Variant("equal inputs told apart", DOUBLE, values="apart")
    first, second, third = (cast(torch.Tensor, one) for one in adapt([_normal(), _normal(), _normal() + 1], apart))
    assert torch.equal(first, _normal()) and torch.equal(third, _normal() + 1) and not torch.equal(second, first)
    assert torch.equal(second.flatten().sort().values, first.flatten().sort().values)
    with pytest.raises(ValueError, match="no two"):
        adapt([_normal(), _normal() + 1], apart)


def test_great_whole_numbers_fit_into_32_bits_and_into_no_float32() -> None:
    numbers = torch.arange(4096)
    (great,) = adapt([numbers], Variant("great whole numbers", DOUBLE, values="great"))
    assert isinstance(great, torch.Tensor) and 2**29 < int(great.max()) < 2**31
    assert not torch.equal(great.float().long(), great) and 0.4 < (great == numbers).double().mean() < 0.6


@pytest.mark.parametrize("kind", [torch.int16, torch.int32])
def test_great_whole_numbers_are_of_the_inputs_own_type(kind: torch.dtype) -> None:
    """Sums in as many bits as the numbers have were accepted."""
    (great,) = adapt([torch.arange(4096, dtype=kind)], Variant("great whole numbers", DOUBLE, values="great"))
    assert isinstance(great, torch.Tensor) and great.dtype == kind and int(great.min()) >= 0
    assert int(great.long().sum()) > torch.iinfo(kind).max


def test_truths_as_floats_are_not_doubled_beside_other_inputs() -> None:
    double, labels = Variant("values x2", DOUBLE, factor=2.0), (_normal() > 0).float()
    values, kept = adapt([_normal(), labels], double)
    assert torch.equal(cast(torch.Tensor, values), 2 * _normal()) and torch.equal(cast(torch.Tensor, kept), labels)
    assert torch.equal(cast(torch.Tensor, adapt([labels], double)[0]), 2 * labels)


def test_numbers_below_what_a_constructor_is_given_are_never_negative() -> None:
    source = DOUBLE.source.replace("return []", "return [EXPERTS]") + "\nEXPERTS = 9\n"
    drawn = source.replace("return [torch.rand", "return [torch.randint(0, EXPERTS, (4, 4)), torch.rand")
    assert bounded_by_arguments(drawn) and not bounded_by_arguments(drawn.replace("(0, EXPERTS,", "(0, 7,"))


def test_signed_values_have_both_signs() -> None:
    signed = _redistributed(_normal().abs(), "signed")
    assert bool((signed < 0).any()) and bool((signed > 0).any())


VALUES = ["negative", "large", "sparse", "small", "signed"]


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize(
    "tensor",
    [
        _normal().sign(),
        (_normal() > 0).float(),
        torch.softmax(_normal(), dim=-1),
        torch.softmax(_normal(), dim=1),
        torch.log_softmax(_normal(), dim=-1),
        torch.tensor(0.5),
        torch.arange(48),
    ],
    ids=["labels", "mask", "probabilities", "by-column", "log-probabilities", "scalar", "integers"],
)
def test_what_a_task_relies_on_is_kept(tensor: torch.Tensor, values: Values) -> None:
    assert torch.equal(_redistributed(tensor, values), tensor)


@pytest.mark.parametrize("values", ["negative", "large", "sparse"])
def test_nonnegative_values_stay_so(values: Values) -> None:
    assert bool((_redistributed(_normal().abs(), values) >= 0).all())


def test_a_unit_interval_is_kept() -> None:
    assert float(_redistributed(_normal().sigmoid(), "large").max()) <= 1


def test_what_rand_draws_promises_no_sign_and_no_bound() -> None:
    for drawn in torch.rand(3000, 8, 12, generator=torch.Generator().manual_seed(0)):  # one in 1,700 passed for another
        assert float(_redistributed(drawn, "negative").max()) <= 0
    assert float(_redistributed(drawn, "large").max()) > 100


@pytest.mark.parametrize(
    "mask", [torch.ones(64, dtype=torch.bool), torch.ones(64), torch.zeros(64), torch.full((64,), 9)]
)
def test_what_is_all_alike_is_so_no_more(mask: torch.Tensor) -> None:
    other = adapt([mask], Variant("v", DOUBLE, values="masks"))[0]
    assert isinstance(other, torch.Tensor) and other.dtype == mask.dtype and len(other.unique()) > 1
    assert float(other.double().abs().max()) <= max(1.0, float(mask[0]))


def test_inputs_that_are_not_all_alike_have_no_other_masks() -> None:
    with pytest.raises(ValueError):
        adapt([torch.randn(8)], Variant("v", DOUBLE, values="masks"))


@pytest.mark.parametrize("values", ["constants", "numbers", "infinities", "ends", "halves", "beyond", "huge"])
def test_one_draw_does_not_tell_what_is_constant(values: Values) -> None:
    """Null controls draw once: they were shown sparse values instead."""
    with pytest.raises(ValueError):
        adapt([torch.ones(8), 0.5], Variant("v", DOUBLE, values=values))


def test_positive_values_do_not_become_zero() -> None:
    assert bool((_redistributed(_normal().exp(), "sparse") > 0).all())


@pytest.mark.parametrize("shape", [(64, 48), (3, 5, 7), (9,), (5, 1), (1, 5)])
def test_strided_storage_holds_the_same_values(shape: tuple[int, ...]) -> None:
    tensor = torch.randn(shape)
    laid = adapt([tensor], Variant("v", DOUBLE, strided=True))[0]
    assert isinstance(laid, torch.Tensor) and torch.equal(laid, tensor) and not laid.is_contiguous()


def test_an_output_that_overflows_is_not_usable_unless_it_did_as_given() -> None:
    variant, bad = Variant("v", DOUBLE), [torch.ones(2), torch.tensor([1.0, float("inf")])]
    assert finite(bad[0]) and not finite(bad)
    assert usable(variant, bad[0], was_finite=True) and not usable(variant, bad, was_finite=True)
    assert usable(variant, bad, was_finite=False)


def test_positions_are_not_asked_for_among_ties() -> None:
    positions, places = torch.arange(3), _task("torch.randn(64, 48)", "return x.argmax(dim=-1)")
    assert not usable(Variant("v", places, values="sparse"), positions, was_finite=True)
    assert usable(Variant("v", places, values="large"), positions, was_finite=True)


@pytest.mark.parametrize(
    "choosing",
    ["x.max(dim=-1)[1]", "x.sort()[1]", "torch.topk(x, 3)[1]", "torch.nonzero(x)", "torch.bucketize(x, x[0])"],
)
def test_whatever_tells_places_is_known_for_it(choosing: str) -> None:
    task = _task("torch.randn(64, 48)", f"return {choosing}")
    assert not usable(Variant("v", task, values="small"), torch.arange(3), was_finite=True)


@pytest.mark.parametrize("counting", ["torch.count_nonzero(x)", "(x >= x.max()).sum(-1)", "x.amax(-1).int()"])
def test_counts_and_truths_are_asked_for_among_ties(counting: str) -> None:
    task = _task("torch.randn(64, 48)", f"return {counting}")
    assert usable(Variant("v", task, values="sparse"), torch.arange(3), was_finite=True)


def test_what_rand_draws_is_tried_with_either_sign() -> None:
    drawn = torch.rand(64, 48, generator=torch.Generator().manual_seed(0)).sort().values
    found = adapt([drawn, torch.arange(48), drawn + 1], Variant("v", DOUBLE, values="mixed"))
    mixed = found[0]
    assert isinstance(mixed, torch.Tensor) and bool((mixed.diff() >= 0).all()) and float(mixed.max()) < 1
    assert -float(mixed.min()) > float(mixed.max()) > 0
    assert torch.equal(found[1], torch.arange(48)) and torch.equal(found[2], drawn + 1)  # type: ignore[arg-type]


def test_without_such_numbers_no_signs_are_tried() -> None:
    for other in (_normal(), torch.softmax(_normal(), dim=-1), (_normal() > 0).float(), torch.arange(48)):
        with pytest.raises(ValueError):
            adapt([other], Variant("v", DOUBLE, values="mixed"))


@pytest.mark.parametrize(
    ("forward", "label"),
    [
        ("return torch.nan_to_num(x)", "infinities among values"),
        ("return x / x.sum().clamp(min=1.0)", "values at their ends"),
        ("return torch.round(x)", "values halfway between whole numbers"),
    ],
)
def test_edges_are_tried_where_the_text_speaks_of_such(forward: str, label: str) -> None:
    assert label in [variant.label for variant in variants(_task("torch.randn(64, 48)", forward), True)]
    assert label not in [variant.label for variant in variants(DOUBLE, True)]


def test_a_multiple_of_what_rand_draws_promises_no_more() -> None:
    own = torch.Generator().manual_seed(0)
    for drawn in torch.rand(500, 8, 12, generator=own):
        for factor in (0.4, 10.0):
            assert float(_redistributed(factor * drawn, "negative").max()) <= 0


def test_what_is_positive_otherwise_stays_so() -> None:
    own = torch.Generator().manual_seed(0)
    for drawn in torch.randn(500, 16, 16, generator=own):
        for positive in (drawn.abs(), drawn.square(), drawn.exp()):
            assert torch.equal(_redistributed(positive, "negative"), positive)


@pytest.mark.parametrize("draw", [torch.randn, torch.rand])
@pytest.mark.parametrize("kind", [torch.float32, torch.float16])
def test_rising_values_outgrow_every_other_block_whatever_was_drawn(
    draw: Callable[..., torch.Tensor], kind: torch.dtype
) -> None:
    """By so much that `exp` overflows: what was drawn as noise did so nine times of ten."""
    for seed in range(100):
        drawn = draw(2, 1537, generator=torch.Generator().manual_seed(seed)).to(kind)
        rows = _redistributed(drawn, "rising").float()
        assert float(rows[0, 1024:].max() - rows[0, :1024].max()) > 88
        assert float(rows[1, :1024].max() - rows[1, 1024:].max()) > 88  # what keeps the last block alone
        assert bool((rows >= 0).all()) == (draw is torch.rand)


def test_a_long_row_of_halves_rises_to_finite_values() -> None:
    """A row's places were counted in halves, which end at 65,504."""
    assert bool(_redistributed(torch.randn(1, 1 << 17).half(), "rising").isfinite().all())


def test_bytes_and_truths_are_no_great_whole_numbers() -> None:
    for kind in (torch.uint8, torch.int8, torch.bool):
        with pytest.raises(ValueError, match="may be great"):
            adapt([torch.arange(9).to(kind)], Variant("great whole numbers", DOUBLE, values="great"))


SOFTMAX = Task(id="softmax", level=1, source=DOUBLE.source.replace("2.0 * x", "torch.softmax(x, -1)"))


@pytest.mark.parametrize(("values", "side"), [("far below", -1), ("far above", 1)])
def test_values_far_from_zero_are_all_on_one_side_and_differ_by_more_than_exp_holds(values: Values, side: int) -> None:
    x = torch.randn(64, 300)
    x[3, 4] = 0.0
    (found,) = cast(list[torch.Tensor], adapt([x], Variant("far", DOUBLE, values=values)))
    assert found[3, 4] == 0 and bool(((side * found)[x != 0] >= 1024).all())
    steps = found[x != 0].unique().diff()
    assert len(steps) > 1 and bool((steps >= 1024).all())


def test_of_two_factors_one_is_far_above_zero_and_one_below() -> None:
    product = DOUBLE.model_copy(update={"source": DOUBLE.source + "\n# q @ k"})
    one, other = cast(
        list[torch.Tensor],
        adapt([torch.randn(8, 64), torch.randn(8, 64)], Variant("far", product, values="far below")),
    )
    # As scores an eighth of them is still so far below zero that `exp` is zero there.
    assert float((one @ other.T).max()) / 64**0.5 < -104 * 8


def test_labels_and_probabilities_are_never_far_from_zero() -> None:
    given: list[object] = [torch.randint(0, 5, (9,)), torch.softmax(torch.randn(4, 9), -1), torch.randn(4, 9)]
    found = adapt(given, Variant("far", DOUBLE, values="far below"))
    assert found[0] is given[0] and torch.equal(cast(torch.Tensor, found[1]), cast(torch.Tensor, given[1]))
    with pytest.raises(ValueError, match="without bounds"):
        adapt(given[:2], Variant("far", DOUBLE, values="far below"))


def test_values_are_far_from_zero_where_a_task_speaks_of_exponentials() -> None:
    wanted = {"values far below zero", "values far above zero"}
    assert wanted <= {variant.label for variant in variants(SOFTMAX, True)}
    assert not wanted & {variant.label for variant in variants(DOUBLE, True)}


def test_a_batch_of_one_is_its_first_row() -> None:
    given: list[object] = [torch.randn(6, 5), torch.randint(0, 5, (6,)), 2.0]
    x, labels, number = adapt(given, Variant("one", DOUBLE, values="one row"))
    assert isinstance(x, torch.Tensor) and isinstance(labels, torch.Tensor)
    assert x.shape == (1, 5) and labels.shape == (1,) and number == 2.0


@pytest.mark.parametrize("shapes", [[(1, 5)], [(6, 6), (6, 6)], [(6,)], [(6, 5), (4,)]])
def test_there_is_no_batch_of_one_where_it_is_not_told_from_other_sizes(shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match="no input has a batch"):
        adapt([torch.randn(shape) for shape in shapes], Variant("one", DOUBLE, values="one row"))


def test_one_row_whose_answer_has_several_is_no_batch() -> None:
    variant = Variant("one", DOUBLE, values="one row")
    assert usable(variant, torch.ones(1, 6), True) and usable(variant, torch.tensor(1.0), True)
    assert not usable(variant, torch.ones(6, 6), True)
