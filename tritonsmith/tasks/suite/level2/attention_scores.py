import torch
import torch.nn as nn

batch_size = 4
num_heads = 12
seq_len = 768
head_dim = 64


class Model(nn.Module):
    """Attention weights: softmax(q @ k.T / sqrt(head_dim))."""

    def forward(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        scores = torch.matmul(q, k.transpose(-2, -1)) / q.shape[-1] ** 0.5
        return torch.softmax(scores, dim=-1)


def get_inputs() -> list[torch.Tensor]:
    q = torch.randn(batch_size, num_heads, seq_len, head_dim)
    return [q, torch.randn(batch_size, num_heads, seq_len, head_dim)]


def get_init_inputs() -> list[int]:
    return []
