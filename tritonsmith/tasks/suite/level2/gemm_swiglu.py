import torch
import torch.nn as nn
import torch.nn.functional as F

tokens = 2000
hidden_size = 1536
intermediate_size = 5632


class Model(nn.Module):
    """The gated half of a transformer's MLP: silu(x @ Wg.T) * (x @ Wu.T)."""

    def __init__(self, hidden_size: int, intermediate_size: int) -> None:
        super().__init__()
        self.gate = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.up = nn.Linear(hidden_size, intermediate_size, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(self.gate(x)) * self.up(x)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(tokens, hidden_size) * 2.0]


def get_init_inputs() -> list[int]:
    return [hidden_size, intermediate_size]
