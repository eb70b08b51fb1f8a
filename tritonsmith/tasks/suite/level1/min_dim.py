"""Minimum over the last dimension, values only."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, dim) -> (batch,)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.amin(x, dim=-1)


batch_size = 4096
dim = 10240


def get_inputs() -> list[torch.Tensor]:
    scale = torch.randn(batch_size, 1)
    return [torch.randn(batch_size, dim) * scale + 4.0 * scale]


def get_init_inputs() -> list[object]:
    return []
