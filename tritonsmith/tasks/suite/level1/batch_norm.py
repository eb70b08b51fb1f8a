"""Batch normalisation of images by the statistics of the batch (training mode)."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, channels, height, width) -> (batch, channels, height, width)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.normal_(self.norm.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x)


batch_size = 16
channels = 64
height = 112
width = 160


def get_inputs() -> list[torch.Tensor]:
    scale = 10.0 ** torch.empty(1, channels, 1, 1).uniform_(-2.0, 1.0)
    return [(torch.randn(batch_size, channels, height, width) + 0.5) * scale]


def get_init_inputs() -> list[int]:
    return [channels]
