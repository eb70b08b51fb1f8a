"""Moving mean of width 3 and stride 1; the zeros of the padding count."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """(batch, channels, length) -> (batch, channels, length)."""

    def __init__(self, kernel_size: int) -> None:
        super().__init__()
        self.kernel_size = kernel_size

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.avg_pool1d(x, self.kernel_size, stride=1, padding=1)


batch_size = 32
channels = 96
length = 10240
kernel_size = 3


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, channels, length)]


def get_init_inputs() -> list[int]:
    return [kernel_size]
