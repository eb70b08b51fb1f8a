import torch
import torch.nn as nn

batch_size = 1024
in_features = 5120
out_features = 6144
divisor = 2.5


class Model(nn.Module):
    """Linear layer, swish and a division: y * sigmoid(y) / divisor."""

    def __init__(self, in_features: int, out_features: int, divisor: float) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.divisor = divisor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        return y * torch.sigmoid(y) / self.divisor


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, in_features) * 2.0]


def get_init_inputs() -> list[int | float]:
    return [in_features, out_features, divisor]
