import torch
import torch.nn as nn

batch_size = 2
num_heads = 4
seq_len = 3072
head_dim = 80


class Model(nn.Module):
    """Causal attention: softmax(q @ k.T / sqrt(head_dim), each position sees itself and the past) @ v."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = torch.matmul(q, k.transpose(-2, -1)) / q.shape[-1] ** 0.5
        future = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).triu(1)
        return torch.matmul(torch.softmax(scores.masked_fill(future, float("-inf")), dim=-1), v)


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch_size, num_heads, seq_len, head_dim) for _ in range(3)]


def get_init_inputs() -> list[int]:
    return []
