import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 16
in_channels = 16
out_channels = 64
height, width = 112, 112
kernel_size = 3


class Model(nn.Module):
    """Padded convolution, hardswish and 2 x 2 max pooling."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=kernel_size // 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.max_pool2d(F.hardswish(self.conv(x)), 2)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, in_channels, height, width) * 3.0]


def get_init_inputs() -> list[int]:
    return [in_channels, out_channels, kernel_size]
