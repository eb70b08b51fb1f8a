"""Hardswish: x * clamp(x + 3, 0, 6) / 6."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """(batch, dim) -> (batch, dim)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.hardswish(x)


batch_size = 8192
dim = 7168


def get_inputs() -> list[torch.Tensor]:
    return [3.0 * torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
