"""Product of images with one factor for each channel."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, channels, height, width), (channels, 1, 1) -> (batch, channels, height, width)."""

    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return x * scale


batch_size = 16
channels = 96
height = 112
width = 160


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, channels, height, width), torch.randn(channels, 1, 1)]


def get_init_inputs() -> list[object]:
    return []
