"""Linear layer: x W^T + b."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, in_features) -> (batch, out_features)."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


batch_size = 2048
in_features = 1536
out_features = 2560


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, in_features)]


def get_init_inputs() -> list[int]:
    return [in_features, out_features]
