"""Product of two matrices."""

import torch
from torch import nn


class Model(nn.Module):
    """(rows, inner), (inner, cols) -> (rows, cols)."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.matmul(a, b)


rows = 2048
inner = 1536
cols = 2560


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, inner), torch.randn(inner, cols)]


def get_init_inputs() -> list[object]:
    return []
