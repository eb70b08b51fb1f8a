import torch
import torch.nn as nn
import torch.nn.functional as F

tokens = 2048
hidden_size = 768
intermediate_size = 3072


class Model(nn.Module):
    """A transformer's MLP with its residual: x + gelu(x @ W1.T + b1) @ W2.T + b2."""

    def __init__(self, hidden_size: int, intermediate_size: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(hidden_size, intermediate_size)
        self.fc2 = nn.Linear(intermediate_size, hidden_size)
        nn.init.normal_(self.fc2.weight, std=0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.fc2(F.gelu(self.fc1(x)))


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(tokens, hidden_size)]


def get_init_inputs() -> list[int]:
    return [hidden_size, intermediate_size]
