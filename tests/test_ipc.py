"""What is told of a GPU tensor beside where it lies; nothing here needs a GPU."""

import pytest
import torch

from tritonsmith.verify.process import ipc

NUMBERS = torch.tensor([1 + 2j, 3 - 4j])
PARTS = torch.view_as_real(NUMBERS)


@pytest.mark.parametrize(
    ("tensor", "memory"),
    [
        (NUMBERS, NUMBERS),
        (NUMBERS.conj(), NUMBERS),
        (NUMBERS.conj().imag, PARTS[:, 1]),
        (NUMBERS.imag, PARTS[:, 1]),
        (PARTS, PARTS),
    ],
)
def test_memory_is_seen_as_the_tensor_shows_it(tensor: torch.Tensor, memory: torch.Tensor) -> None:
    """A conjugated view came as its memory, which is not conjugated. An empty part has its bits and needs no driver."""
    assert torch.equal(ipc.shown(memory, ipc.export(tensor[:0])).clone(), tensor)


def test_a_place_that_says_nothing_of_it_is_memory_as_it_is() -> None:
    assert ipc.shown(PARTS, {"conjugate": "yes", "negative": 1}) is PARTS
