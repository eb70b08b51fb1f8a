"""Product of two batches of matrices."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, rows, inner), (batch, inner, cols) -> (batch, rows, cols)."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.bmm(a, b)


batch_size = 32
rows = 512
inner = 384
cols = 640


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, rows, inner), torch.randn(batch_size, inner, cols)]


def get_init_inputs() -> list[object]:
    return []
