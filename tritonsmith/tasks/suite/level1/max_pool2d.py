"""Maximum over square windows with stride 2 and padding 1."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """(batch, channels, height, width) -> (batch, channels, height / 2, width / 2)."""

    def __init__(self, kernel_size: int) -> None:
        super().__init__()
        self.kernel_size = kernel_size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.max_pool2d(x, self.kernel_size, stride=2, padding=1)


batch_size = 16
channels = 96
height = 112
width = 160
kernel_size = 3


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs() -> list[int]:
    return [kernel_size]
