"""Whole numbers that a reference takes for places lie all over what they are places of, and keep what is promised."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from judging import DOUBLE
from torch import nn

from tritonsmith.tasks.variants import variants
from tritonsmith.verify.reference.places import spread

ROWS = 300
TABLE = torch.randn(ROWS, 4)


class _Model(nn.Module):
    def __init__(self, compute: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.compute = compute

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.compute(*inputs)


def _spread(compute: Callable[..., torch.Tensor], draw: Callable[[], list[torch.Tensor]]) -> list[torch.Tensor]:
    found = spread(_Model(compute), list(draw()), list(draw()))
    assert all(isinstance(one, torch.Tensor) for one in found)
    return found  # type: ignore[return-value]


def _few() -> list[torch.Tensor]:
    return [torch.randint(0, 20, (8, 30))]


READS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "embedding": lambda index: F.embedding(index, TABLE),
    "embedding_bag": lambda index: F.embedding_bag(index, TABLE),
    "gather": lambda index: TABLE[:, 0].expand(8, ROWS).gather(1, index),
    "index": lambda index: TABLE[index.long()],
    "index_select": lambda index: TABLE.index_select(0, index.flatten()),
    "nll_loss": lambda index: F.nll_loss(TABLE.T[:1].expand(240, ROWS), index.flatten()),
    "a part of it": lambda index: TABLE[index[:, :3]],
}


@pytest.mark.parametrize("name", READS)
def test_first_and_last_place_are_taken_and_others_all_over(name: str) -> None:
    (index,) = _spread(READS[name], _few)
    assert index.shape == (8, 30) and int(index.min()) == 0 and int(index.max()) == ROWS - 1
    assert all(bool(((index >= low) & (index < low + ROWS // 4)).any()) for low in range(0, ROWS, ROWS // 4))


def test_what_is_read_from_in_no_order_comes_in_pairs_and_in_order_too() -> None:
    (index,) = _spread(READS["embedding"], _few)
    half = index.flatten()[120:]
    assert bool((half.diff() >= 0).all()) and bool((half[::2] == half[1::2]).all())


@pytest.mark.parametrize(
    "draw",
    [
        lambda: torch.randint(0, 20, (64,)).sort().values,
        lambda: torch.randint(0, 20, (8, 8)).sort(dim=1).values,
        lambda: torch.randperm(20)[:12],
    ],
    ids=["sorted", "rows sorted", "each once"],
)
def test_order_and_what_is_equal_are_kept(draw: Callable[[], torch.Tensor]) -> None:
    given = [draw(), draw()]
    (index,) = spread(_Model(READS["index"]), [given[0]], [given[1]])
    assert isinstance(index, torch.Tensor)
    before, after = given[0].flatten(), index.flatten()
    assert torch.equal(before[:, None] < before, after[:, None] < after)


def test_what_is_written_to_is_equal_where_it_was() -> None:
    given = _few()[0]
    (index,) = spread(_Model(lambda at: torch.zeros(ROWS).index_add(0, at.flatten(), TABLE[:240, 0])), [given], _few())
    assert isinstance(index, torch.Tensor)
    before, after = given.flatten(), index.flatten()
    assert torch.equal(before[:, None] == before, after[:, None] == after) and int(after.max()) == ROWS - 1


@pytest.mark.parametrize(
    ("compute", "draw"),
    [
        (lambda index, x: x * index, lambda: [*_few(), torch.randn(8, 30)]),
        (lambda index: TABLE[index + 40], _few),
        (lambda index, counts: TABLE[index] * counts, lambda: [*_few(), torch.randint(1, 9, (1,))]),
        (lambda index: TABLE[index], lambda: [torch.arange(20)]),
        (lambda index: TABLE[index], lambda: [torch.randperm(ROWS)]),
        (lambda index: TABLE[: int(index.max())], _few),
        (lambda index: TABLE[index] * (torch.arange(30) < index)[..., None], _few),
        (lambda index: TABLE[index] * index.sum(), _few),
    ],
    ids=["no places", "of a part", "beside counts", "no seed changes them", "all", "a size", "lengths too", "counted"],
)
def test_other_whole_numbers_stay(compute: Callable[..., torch.Tensor], draw: Callable[[], list[torch.Tensor]]) -> None:
    with pytest.raises((ValueError, IndexError)):
        _spread(compute, draw)


def test_places_one_of_which_is_left_out_are_places() -> None:
    (index,) = _spread(lambda index: TABLE[index] * (index != 3)[..., None], _few)
    assert int(index.max()) == ROWS - 1


def test_kinds_that_no_seed_changes_stay_beside_places() -> None:
    kinds = torch.tensor([0, 1, 1, 0])
    found = _spread(lambda index, kind: TABLE[index] + TABLE[kind].sum(), lambda: [*_few(), kinds])
    assert found[1] is kinds and int(found[0].max()) == ROWS - 1


def test_places_are_tried_where_a_task_draws_such() -> None:
    source = DOUBLE.source.replace("2.0 * x", "torch.arange(300.0, device=x.device)[x]")
    picks = DOUBLE.model_copy(
        update={"source": source.replace("torch.randn(", "torch.randint(0, 20, (").replace("48)]", "48))]")}
    )
    assert "places all over" in {variant.label for variant in variants(picks, True)}
    assert "places all over" not in {variant.label for variant in variants(DOUBLE, True)}
