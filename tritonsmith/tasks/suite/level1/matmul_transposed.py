"""Product of two matrices that are both stored transposed: a^T b^T."""

import torch
from torch import nn


class Model(nn.Module):
    """(inner, rows), (cols, inner) -> (rows, cols)."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.matmul(a.T, b.T)


rows = 2048
inner = 1536
cols = 2560


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(inner, rows), torch.randn(cols, inner)]


def get_init_inputs() -> list[object]:
    return []
