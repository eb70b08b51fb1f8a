"""Softplus: log(1 + exp(x)), linear above a threshold of 20."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """(batch, dim) -> (batch, dim)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.softplus(x)


batch_size = 4096
dim = 12288


def get_inputs() -> list[torch.Tensor]:
    return [5.0 * torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
