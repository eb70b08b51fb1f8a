"""Running sum along the last dimension of the elements that a mask keeps."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, dim), (batch, dim) bool -> (batch, dim)."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(x * mask, dim=-1)


batch_size = 4096
dim = 10240


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, dim), torch.rand(batch_size, dim) < 0.5]


def get_init_inputs() -> list[object]:
    return []
