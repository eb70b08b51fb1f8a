"""Rows of a matrix scaled by a diagonal: diag(d) b."""

import torch
from torch import nn


class Model(nn.Module):
    """(rows,), (rows, cols) -> (rows, cols)."""

    def forward(self, d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.diag(d) @ b


rows = 4096
cols = 3072


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows), torch.randn(rows, cols)]


def get_init_inputs() -> list[object]:
    return []
