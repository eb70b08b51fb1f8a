"""Transpose of a matrix, written out in memory."""

import torch
from torch import nn


class Model(nn.Module):
    """(rows, cols) -> (cols, rows)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.T.contiguous()


rows = 4096
cols = 10240


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, cols)]


def get_init_inputs() -> list[object]:
    return []
