import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 8
in_channels = 8
out_channels = 32
depth, height, width = 16, 32, 32
kernel_size = 3


class Model(nn.Module):
    """Three-dimensional convolution, leaky ReLU, a bias a channel, and a clamp to [-1, 1]."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.Conv3d(in_channels, out_channels, kernel_size, padding=kernel_size // 2)
        self.bias = nn.Parameter(torch.randn(out_channels, 1, 1, 1) * 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.clamp(F.leaky_relu(self.conv(x), 0.2) + self.bias, -1.0, 1.0)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, in_channels, depth, height, width)]


def get_init_inputs() -> list[int]:
    return [in_channels, out_channels, kernel_size]
