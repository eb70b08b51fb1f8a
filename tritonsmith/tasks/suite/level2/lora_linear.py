import torch
import torch.nn as nn

tokens = 2048
in_features = 3072
out_features = 4096
rank = 16
scaling = 2.0


class Model(nn.Module):
    """Linear layer with a low-rank update: x @ W.T + scaling * (x @ A.T) @ B.T."""

    def __init__(self, in_features: int, out_features: int, rank: int, scaling: float) -> None:
        super().__init__()
        self.base = nn.Linear(in_features, out_features, bias=False)
        self.lora_a = nn.Linear(in_features, rank, bias=False)
        self.lora_b = nn.Linear(rank, out_features, bias=False)
        self.scaling = scaling

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + self.lora_b(self.lora_a(x)) * self.scaling


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(tokens, in_features)]


def get_init_inputs() -> list[int | float]:
    return [in_features, out_features, rank, scaling]
