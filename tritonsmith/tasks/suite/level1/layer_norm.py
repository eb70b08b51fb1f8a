"""Layer normalisation over the last dimension, with weight and bias."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, sequence, dim) -> (batch, sequence, dim)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.normal_(self.norm.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


batch_size = 16
sequence = 640
dim = 3072


def get_inputs() -> list[torch.Tensor]:
    scale = 10.0 ** torch.empty(batch_size, sequence, 1).uniform_(-2.0, 1.0)
    return [(torch.randn(batch_size, sequence, dim) + 0.5) * scale]


def get_init_inputs() -> list[int]:
    return [dim]
