"""What a GPU asserts is raised before: the same calls that raise on a CPU, and no others."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from tritonsmith.tasks.asserted import Asserted, asserted

X = torch.rand(4, 6)
BELOW, BEHIND, WITHIN, ABOVE = (
    torch.tensor(rows) for rows in ([0, -7, 1, 2], [0, -1, 1, 2], [0, 3, 2, 1], [0, 6, 1, 2])
)


def label(index: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(X, index)


CALLS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "embedding": lambda index: F.embedding(index, X.T),
    "gather": lambda index: torch.gather(X, 1, index[:, None]),
    "index": lambda index: X[:, index],
    "index_fill": lambda index: X.index_fill(1, index, 2.0),
    "index_add": lambda index: torch.zeros(4, 6).index_add(1, index, X[:, :4]),
    "index_copy": lambda index: torch.zeros(4, 6).index_copy(1, index, X[:, :4]),
    "index_put": lambda index: X.clone().index_put((torch.arange(4), index), torch.ones(4)),
    "index_select": lambda index: X.index_select(1, index),
    "nll_loss": label,
    "scatter": lambda index: torch.zeros(4, 6).scatter(1, index[:, None], 1.0),
    "scatter_add": lambda index: torch.zeros(4, 6).scatter_add_(1, index[:, None], X),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("index", [BELOW, BEHIND, WITHIN, ABOVE], ids=["below", "behind", "within", "above"])
def test_raises_for_the_places_that_a_cpu_raises_for(name: str, index: torch.Tensor) -> None:
    try:
        expected = CALLS[name](index)
    except (IndexError, RuntimeError):
        with pytest.raises(IndexError, match="is not in"), Asserted():
            CALLS[name](index)
        return
    with Asserted():
        torch.testing.assert_close(CALLS[name](index), expected)


@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan")])
def test_raises_for_what_is_no_probability(value: float) -> None:
    given = torch.tensor([0.5, value])
    with pytest.raises(RuntimeError, match="between 0 and 1"), Asserted():
        F.binary_cross_entropy(given, torch.ones(2))


def test_a_label_that_is_left_out_is_none_out_of_range() -> None:
    with Asserted():
        label(torch.tensor([0, -100, 2, 1]))


def test_a_cpu_is_asked_nothing() -> None:
    assert not isinstance(asserted([X]), Asserted)
