"""Transposed two-dimensional convolution with stride 2 and bias."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, in_channels, height, width) -> (batch, out_channels, 2 height, 2 width)."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride=2, padding=1, output_padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch_size = 16
in_channels = 64
out_channels = 48
kernel_size = 3
height = 28
width = 40


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs() -> list[int]:
    return [in_channels, out_channels, kernel_size]
