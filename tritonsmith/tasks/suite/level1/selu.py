"""SELU: scaled exponential linear unit with its two fixed constants."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, dim) -> (batch, dim)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.selu(x)


batch_size = 8192
dim = 5120


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
