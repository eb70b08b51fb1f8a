"""x clamped from above where it exceeds a threshold, y elsewhere."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, dim), (batch, dim) -> (batch, dim)."""

    def __init__(self, threshold: float, upper: float) -> None:
        super().__init__()
        self.threshold = threshold
        self.upper = upper

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.where(x > self.threshold, x.clamp(max=self.upper), y)


batch_size = 4096
dim = 12288
threshold = -0.25
upper = 1.5


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, dim), torch.randn(batch_size, dim)]


def get_init_inputs() -> list[float]:
    return [threshold, upper]
