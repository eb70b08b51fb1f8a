"""Cosine of the angle between paired rows."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """(batch, dim), (batch, dim) -> (batch,)."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.cosine_similarity(x, y, dim=-1)


batch_size = 16384
dim = 1536


def get_inputs() -> list[torch.Tensor]:
    x = torch.randn(batch_size, dim)
    mix = 2.0 * torch.randn(batch_size, 1)
    return [x, mix * x + torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
