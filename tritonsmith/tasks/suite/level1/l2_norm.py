"""Rows divided by their Euclidean norm, bounded below by a small epsilon."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """(batch, dim) -> (batch, dim)."""

    def __init__(self, eps: float) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.normalize(x, dim=-1, eps=self.eps)


batch_size = 32768
dim = 768
eps = 1e-6


def get_inputs() -> list[torch.Tensor]:
    scale = 10.0 ** torch.empty(batch_size, 1).uniform_(-2.0, 1.0)
    return [torch.randn(batch_size, dim) * scale]


def get_init_inputs() -> list[float]:
    return [eps]
