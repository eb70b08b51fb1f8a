import torch
import torch.nn as nn

batch_size = 8
seq_len = 1024
hidden_size = 1536


class Model(nn.Module):
    """Residual addition and layer normalisation: layer_norm(x + residual)."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(hidden_size)
        nn.init.normal_(self.norm.weight)
        nn.init.normal_(self.norm.bias)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        return self.norm(x + residual)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, seq_len, hidden_size), torch.randn(batch_size, seq_len, hidden_size)]


def get_init_inputs() -> list[int]:
    return [hidden_size]
