"""SiLU (swish): x * sigmoid(x)."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """(batch, dim) -> (batch, dim)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(x)


batch_size = 4096
dim = 14336


def get_inputs() -> list[torch.Tensor]:
    return [3.0 * torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
