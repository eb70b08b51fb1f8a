import torch
import torch.nn as nn

batch_size = 4096
in_features = 2048
hidden_features = 1536


class Model(nn.Module):
    """Linear layer, sigmoid and a weighted sum over its features, one number a row."""

    def __init__(self, in_features: int, hidden_features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, hidden_features)
        self.weight = nn.Parameter(torch.randn(hidden_features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sum(torch.sigmoid(self.linear(x)) * self.weight, dim=1, keepdim=True)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, in_features) * 2.0]


def get_init_inputs() -> list[int]:
    return [in_features, hidden_features]
