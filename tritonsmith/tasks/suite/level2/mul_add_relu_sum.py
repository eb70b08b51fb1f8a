import torch
import torch.nn as nn

batch_size = 1024
features = 12288


class Model(nn.Module):
    """A factor and a bias a feature, ReLU, and the sum of each row."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features))
        self.bias = nn.Parameter(torch.randn(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * self.weight + self.bias).sum(dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, features) * (0.5 + 2.0 * torch.rand(batch_size, 1))]


def get_init_inputs() -> list[int]:
    return [features]
