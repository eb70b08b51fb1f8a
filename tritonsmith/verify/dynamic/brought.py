"""Small tensors are asked about on the host.

A kernel that is waited for takes a turn of the GPU, of all who share it, and a copy to the host does not
(`benchmarks/sharing.py`): 16 processes wait 2 ms for the one and 50 us for the other. Holds no state.
"""

from collections.abc import Sequence

import torch

_FEW = 1 << 18
"""Bytes up to which tensors are brought."""


def brought(*tensors: torch.Tensor) -> Sequence[torch.Tensor]:
    """The tensors' values on the host where all of them are few; where they lie otherwise."""
    if not any(tensor.is_cuda for tensor in tensors) or sum(tensor.nbytes for tensor in tensors) > _FEW:
        return tensors
    if any(tensor.dtype == torch.complex32 for tensor in tensors):
        return tensors  # a processor compares none
    return [tensor.detach().cpu() for tensor in tensors]
