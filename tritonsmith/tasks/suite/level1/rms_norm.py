"""Root-mean-square normalisation over the last dimension, with a weight."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, sequence, dim) -> (batch, sequence, dim)."""

    def __init__(self, dim: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.empty(dim).uniform_(0.5, 1.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean_square = x.pow(2).mean(dim=-1, keepdim=True)
        return x * torch.rsqrt(mean_square + self.eps) * self.weight


batch_size = 16
sequence = 896
dim = 2560
eps = 1e-5


def get_inputs() -> list[torch.Tensor]:
    scale = 10.0 ** torch.empty(batch_size, sequence, 1).uniform_(-2.0, 1.0)
    return [torch.randn(batch_size, sequence, dim) * scale]


def get_init_inputs() -> list[int | float]:
    return [dim, eps]
