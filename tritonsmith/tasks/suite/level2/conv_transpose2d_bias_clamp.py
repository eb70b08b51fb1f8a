import torch
import torch.nn as nn

batch_size = 16
in_channels = 64
out_channels = 32
height, width = 32, 32
kernel_size = 3
stride = 2


class Model(nn.Module):
    """Strided transposed convolution, a bias a channel, and a clamp to [-0.5, 0.5]."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose2d(in_channels, out_channels, kernel_size, stride=stride, bias=False)
        self.bias = nn.Parameter(torch.randn(out_channels, 1, 1) * 0.3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.clamp(self.conv(x) + self.bias, -0.5, 0.5)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, in_channels, height, width)]


def get_init_inputs() -> list[int]:
    return [in_channels, out_channels, kernel_size, stride]
