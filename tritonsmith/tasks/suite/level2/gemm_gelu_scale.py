import torch
import torch.nn as nn
import torch.nn.functional as F

batch_size = 2048
in_features = 1280
out_features = 5120
scale = 1.75


class Model(nn.Module):
    """Linear layer, exact GELU and a constant factor: scale * gelu(x @ W.T + b)."""

    def __init__(self, in_features: int, out_features: int, scale: float) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(self.linear(x)) * self.scale


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, in_features)]


def get_init_inputs() -> list[int | float]:
    return [in_features, out_features, scale]
