"""One-dimensional convolution with bias and padding 1."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, in_channels, length) -> (batch, out_channels, length)."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(in_channels, out_channels, kernel_size, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x)


batch_size = 16
in_channels = 64
out_channels = 96
kernel_size = 3
length = 10240


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, in_channels, length)]


def get_init_inputs() -> list[int]:
    return [in_channels, out_channels, kernel_size]
