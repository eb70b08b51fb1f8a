import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 32
in_channels = 16
out_channels = 64
height, width = 64, 64
kernel_size = 3


class Model(nn.Module):
    """Padded convolution, 2 x 2 average pooling, sigmoid and the sum over the channels."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=kernel_size // 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(F.avg_pool2d(self.conv(x), 2)).sum(dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, in_channels, height, width) + 3.0 * torch.randn(batch_size, in_channels, 1, 1)]


def get_init_inputs() -> list[int]:
    return [in_channels, out_channels, kernel_size]
