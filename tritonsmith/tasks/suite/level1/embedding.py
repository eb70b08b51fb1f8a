"""Rows of a table picked by token ids."""

import torch
from torch import nn


class Model(nn.Module):
    """(batch, sequence) int64 -> (batch, sequence, dim)."""

    def __init__(self, vocabulary: int, dim: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.embedding(tokens)


batch_size = 16
sequence = 2048
vocabulary = 50257
dim = 768


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(0, vocabulary, (batch_size, sequence))]


def get_init_inputs() -> list[int]:
    return [vocabulary, dim]
