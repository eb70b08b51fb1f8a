import torch
import torch.nn as nn

batch_size = 8
seq_len = 1024
hidden_size = 2560
eps = 1e-6


class Model(nn.Module):
    """Residual addition and RMS normalisation; gives the normalised and the new residual stream."""

    def __init__(self, hidden_size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(hidden_size))
        self.eps = eps

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        stream = x + residual
        rms = torch.rsqrt(stream.pow(2).mean(dim=-1, keepdim=True) + self.eps)
        return stream * rms * self.weight, stream


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, seq_len, hidden_size), torch.randn(batch_size, seq_len, hidden_size)]


def get_init_inputs() -> list[int | float]:
    return [hidden_size, eps]
