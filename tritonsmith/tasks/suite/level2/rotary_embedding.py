import torch
import torch.nn as nn

batch_size = 4
num_heads = 12
seq_len = 1500
head_dim = 128


class Model(nn.Module):
    """Rotary position embedding, halves rotated against each other as in LLaMA."""

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, dim=-1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


def get_inputs() -> list[torch.Tensor]:
    frequency = 10000.0 ** (-torch.arange(0, head_dim, 2) / head_dim)
    angle = torch.arange(seq_len)[:, None] * frequency
    return [torch.randn(batch_size, num_heads, seq_len, head_dim), torch.cos(angle), torch.sin(angle)]


def get_init_inputs() -> list[int]:
    return []
