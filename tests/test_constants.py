"""What of the inputs no seed changes, and what stands in for it: what may be relied on is kept."""

import pytest
import torch
from torch.utils._pytree import keystr

from tritonsmith.tasks.constants import constants, others, put

TRIL = torch.ones(12, 12).tril().bool()
WINDOW = torch.linspace(1, 0, 16)


def _first(value: object, whole: tuple[int, ...] = ()) -> torch.Tensor:
    found = next(others(value, whole))
    assert isinstance(found, torch.Tensor) and isinstance(value, torch.Tensor)
    assert found.shape == value.shape and found.dtype == value.dtype
    return found


def test_places_of_what_two_draws_share() -> None:
    one = [torch.ones(2), {"a": [0.5, torch.arange(3)]}, 3, True, "sum", None]
    two = [torch.zeros(2), {"a": [0.5, torch.arange(3)]}, 3, True, "sum", None]
    assert list(map(keystr, constants(one, two))) == ["[1]['a'][0]", "[1]['a'][1]", "[3]"]


def test_what_is_put_in_leaves_the_rest_as_it_was() -> None:
    tree = [1, {"a": (2.0, 3.0)}]
    place = constants(tree, [1, {"a": (0.0, 3.0)}])[0]
    assert put(tree, place, 4.0) == [1, {"a": (2.0, 4.0)}] and tree == [1, {"a": (2.0, 3.0)}]


def test_whole_numbers_and_words_have_no_others() -> None:
    assert list(others(3)) == list(others("sum")) == list(others(float("inf"))) == []


def test_truths_are_inverted_and_shares_stay_shares() -> None:
    assert list(others(True)) == [False]
    assert next(others(0.8)) == 0.4 and next(others(-1.0)) == -1.5
    assert float(_first(torch.tensor(0.8))) == pytest.approx(0.4)


def test_a_mask_keeps_its_diagonal_and_hides_no_row_as_a_whole() -> None:
    for mask in (TRIL, TRIL.float(), TRIL.long()):
        other = _first(mask)
        assert not torch.equal(other, mask) and set(other.unique().tolist()) <= {0, 1}
        assert torch.equal(other.diagonal(), mask.diagonal()) and bool(other.any(-1).all())


def test_equal_elements_of_a_table_stay_equal_and_bounds_are_kept() -> None:
    half = torch.outer(torch.arange(8.0), torch.tensor([1.0, 0.1])).cos()
    table = torch.cat([half, half], dim=-1)
    other = _first(table)
    assert not torch.equal(other, table) and torch.equal(other[:, :2], other[:, 2:])
    assert bool((other.abs() <= table.abs()).all())


@pytest.mark.parametrize("table", [WINDOW, WINDOW.flip(0)])
def test_a_row_in_order_stays_so_between_its_ends(table: torch.Tensor) -> None:
    other = _first(table)
    assert not torch.allclose(other, table)
    assert torch.equal(other.sort(descending=bool(table[0] > table[1])).values, other)
    assert torch.allclose(other[[0, -1]], table[[0, -1]])


def test_shares_of_one_stay_so() -> None:
    for table in (torch.softmax(torch.arange(8.0), 0), torch.eye(8)):
        assert torch.allclose(_first(table).sum(-1), table.sum(-1))


def test_a_mask_that_is_added_hides_the_same() -> None:
    mask = torch.full((8, 8), -torch.inf).triu(1)
    other = _first(mask)
    assert torch.equal(other.isneginf(), mask.isneginf()) and len(other[-1].unique()) > 1


def test_offsets_stay_in_order_between_the_same_ends() -> None:
    for offsets in (torch.arange(9) * 8, torch.tensor([0, 3, 4, 10, 16])):
        other = _first(offsets) if len(offsets) < 9 else list(others(offsets))[1]
        assert isinstance(other, torch.Tensor) and bool((other.diff() > 0).all())
        assert torch.equal(other[[0, -1]], offsets[[0, -1]])


def test_segments_get_no_longer_than_a_number_beside_them_says() -> None:
    assert all(torch.equal(other, torch.arange(9) * 8) for other in others(torch.arange(9) * 8, (8,)))  # type: ignore[arg-type]


def test_other_whole_numbers_are_brought_into_another_order() -> None:
    for numbers in (torch.arange(64), torch.arange(64).reshape(8, 8), torch.arange(64).flip(0)):
        other = _first(numbers)
        assert not torch.equal(other, numbers) and torch.equal(other.flatten().sort().values, torch.arange(64))
