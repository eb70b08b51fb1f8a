"""Product of a matrix and a vector."""

import torch
from torch import nn


class Model(nn.Module):
    """(rows, inner), (inner,) -> (rows,)."""

    def forward(self, a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.mv(a, x)


rows = 4096
inner = 12288


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, inner), torch.randn(inner)]


def get_init_inputs() -> list[object]:
    return []
