import torch
import torch.nn as nn

tokens = 4096
hidden_size = 3072
out_features = 2560
eps = 1e-6


class Model(nn.Module):
    """RMS normalisation and a linear layer: (x / rms(x) * g) @ W.T."""

    def __init__(self, hidden_size: int, out_features: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(hidden_size))
        self.linear = nn.Linear(hidden_size, out_features, bias=False)
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rms = torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return self.linear(x * rms * self.weight)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(tokens, hidden_size) * (0.5 + 2.0 * torch.rand(tokens, 1))]


def get_init_inputs() -> list[int | float]:
    return [hidden_size, out_features, eps]
