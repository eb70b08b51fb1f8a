"""Sum over the middle dimension."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, rows, cols) -> (batch, cols)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sum(x, dim=self.dim)


batch_size = 64
rows = 1536
cols = 640
reduce_dim = 1


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, rows, cols)]


def get_init_inputs() -> list[int]:
    return [reduce_dim]
