"""Rows divided by their Euclidean norm: several short rows a program."""

import torch
import triton
import triton.language as tl
from torch import nn

ROWS = 4


@triton.jit
def l2_norm_kernel(x_ptr, out_ptr, rows, cols, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    col = tl.arange(0, BLOCK)
    mask = (row[:, None] < rows) & (col[None, :] < cols)
    offsets = row[:, None].to(tl.int64) * cols + col[None, :]
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    norm = tl.sqrt(tl.sum(x * x, axis=1))
    tl.store(out_ptr + offsets, x / tl.maximum(norm, eps)[:, None], mask=mask)


class ModelNew(nn.Module):
    def __init__(self, eps: float) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty_like(x)
        grid = (triton.cdiv(rows, ROWS),)
        l2_norm_kernel[grid](x, out, rows, cols, self.eps, ROWS=ROWS, BLOCK=triton.next_power_of_2(cols))
        return out
