"""Two-dimensional convolution with stride 2 and no bias."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, in_channels, height, width) -> (batch, out_channels, height / 2, width / 2)."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, stride=2, padding=1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch_size = 16
in_channels = 32
out_channels = 96
kernel_size = 3
height = 112
width = 160


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs() -> list[int]:
    return [in_channels, out_channels, kernel_size]
