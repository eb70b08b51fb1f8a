"""Index of the maximum over the last dimension, as int64."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, dim) -> (batch,), int64."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.argmax(x, dim=-1)


batch_size = 4096
dim = 12288


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, dim)]


def get_init_inputs() -> list[object]:
    return []
