import torch
import torch.nn as nn

batch_size = 4096
features = 1280


class Model(nn.Module):
    """Highway layer: g * relu(x @ Wh.T + bh) + (1 - g) * x with g = sigmoid(x @ Wg.T + bg)."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.transform = nn.Linear(features, features)
        self.gate = nn.Linear(features, features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        g = torch.sigmoid(self.gate(x))
        return g * torch.relu(self.transform(x)) + (1.0 - g) * x


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, features) * 2.0]


def get_init_inputs() -> list[int]:
    return [features]
