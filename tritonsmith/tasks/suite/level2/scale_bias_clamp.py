import torch
import torch.nn as nn

batch_size = 32
channels = 96
height, width = 56, 56
low = -1.0
high = 2.0


class Model(nn.Module):
    """A factor and a bias a channel, then a clamp to [low, high]."""

    def __init__(self, channels: int, low: float, high: float) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(channels))
        self.bias = nn.Parameter(torch.randn(channels))
        self.low = low
        self.high = high

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * self.scale[:, None, None] + self.bias[:, None, None]
        return torch.clamp(y, self.low, self.high)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, channels, height, width)]


def get_init_inputs() -> list[int | float]:
    return [channels, low, high]
