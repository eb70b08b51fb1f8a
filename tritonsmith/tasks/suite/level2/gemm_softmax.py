import torch
import torch.nn as nn

batch_size = 4096
in_features = 2048
out_features = 1000


class Model(nn.Module):
    """Linear layer and softmax over its features."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.linear(x), dim=1)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, in_features) * 3.0]


def get_init_inputs() -> list[int]:
    return [in_features, out_features]
