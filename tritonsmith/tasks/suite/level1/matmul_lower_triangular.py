"""Lower triangle of the product of two lower-triangular square matrices."""

import torch
from torch import nn


class Model(nn.Module):
    """(size, size), (size, size) -> (size, size)."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.tril(torch.matmul(a, b))


size = 1536


def get_inputs() -> list[torch.Tensor]:
    return [torch.tril(torch.randn(size, size)), torch.tril(torch.randn(size, size))]


def get_init_inputs() -> list[object]:
    return []
