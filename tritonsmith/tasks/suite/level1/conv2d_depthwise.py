"""Depthwise convolution: one filter for each channel, padding 1."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, channels, height, width) -> (batch, channels, height, width)."""

    def __init__(self, channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel_size, padding=1, groups=channels, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch_size = 16
channels = 96
kernel_size = 3
height = 112
width = 160


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs() -> list[int]:
    return [channels, kernel_size]
