"""Exact GELU: x * Phi(x) with the error function."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """(batch, dim) -> (batch, dim)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(x)


batch_size = 4096
dim = 11008


def get_inputs() -> list[torch.Tensor]:
    return [2.0 * torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
