"""Logistic sigmoid: 1 / (1 + exp(-x))."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, dim) -> (batch, dim)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(x)


batch_size = 8192
dim = 5120


def get_inputs() -> list[torch.Tensor]:
    return [3.0 * torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
