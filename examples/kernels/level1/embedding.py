"""Embedding: one program copies one row of the table."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def embedding_kernel(token_ptr, table_ptr, out_ptr, dim, BLOCK: tl.constexpr):
    position = tl.program_id(0).to(tl.int64)
    token = tl.load(token_ptr + position)
    col = tl.arange(0, BLOCK)
    row = tl.load(table_ptr + token * dim + col, mask=col < dim)
    tl.store(out_ptr + position * dim + col, row, mask=col < dim)


class ModelNew(nn.Module):
    def __init__(self, vocabulary: int, dim: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        tokens = tokens.contiguous()
        table = self.embedding.weight
        dim = table.shape[1]
        out = torch.empty(*tokens.shape, dim, device=table.device, dtype=table.dtype)
        embedding_kernel[(tokens.numel(),)](tokens, table, out, dim, BLOCK=triton.next_power_of_2(dim))
        return out
