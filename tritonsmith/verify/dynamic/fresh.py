"""Memory that a forward took and that holds a poison until something writes it: on a GPU, where it lies between guards,
and zeros where launches are not run.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch

_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Fresh(NamedTuple):
    """What is known of one allocation."""

    size: int
    """Bytes without the guards."""
    poison: int
    """What each byte holds until something writes it."""

    def bare(self, tensor: torch.Tensor) -> torch.Tensor:
        """Which elements of a part of it nothing has written, as truths of the part's shape."""
        if (kind := _BITS.get(tensor.element_size())) is None:
            return torch.zeros(tensor.shape, dtype=torch.bool, device=tensor.device)
        held = torch.full((tensor.element_size(),), self.poison, dtype=torch.uint8).view(kind)
        return tensor.view(kind) == int(held)


def zeroed(known: dict[int, Fresh]) -> Callable[[torch.Tensor], torch.Tensor]:
    """A replacement for fresh memory: the same filled with zeros, noted by its storage's address."""

    def replace(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        known[storage.data_ptr()] = Fresh(storage.nbytes(), 0)
        return tensor.zero_()

    return replace
