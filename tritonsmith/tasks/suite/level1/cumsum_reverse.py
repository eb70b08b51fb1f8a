"""Running sum along the last dimension, from its end."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, dim) -> (batch, dim)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.flip(-1).cumsum(dim=-1).flip(-1)


batch_size = 4096
dim = 12288


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
