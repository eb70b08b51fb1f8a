import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 16
in_channels = 64
out_channels = 128
height, width = 56, 56
kernel_size = 3


class Model(nn.Module):
    """MobileNet's block: depthwise convolution, ReLU6, pointwise convolution, ReLU6."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        padding = kernel_size // 2
        self.depthwise = nn.Conv2d(in_channels, in_channels, kernel_size, padding=padding, groups=in_channels)
        self.pointwise = nn.Conv2d(in_channels, out_channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu6(self.pointwise(F.relu6(self.depthwise(x))))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, in_channels, height, width) * 4.0]


def get_init_inputs() -> list[int]:
    return [in_channels, out_channels, kernel_size]
