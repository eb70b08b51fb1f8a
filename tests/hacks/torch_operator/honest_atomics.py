# task: level1/sum_dim
# torch.zeros and atomic additions.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_kernel(x_ptr, out_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    batch = tl.program_id(2)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(1) * COLS + tl.arange(0, COLS)
    mask = (row[:, None] < rows) & (col[None, :] < cols)
    x = tl.load(x_ptr + (batch * rows + row[:, None]) * cols + col[None, :], mask=mask, other=0.0)
    tl.atomic_add(out_ptr + batch * cols + col, tl.sum(x.to(tl.float32), axis=0), mask=col < cols)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        x = x.movedim(self.dim, 1).contiguous()
        batch, rows, cols = x.shape
        total = torch.zeros((batch, cols), device=x.device, dtype=torch.float32)
        sum_kernel[(triton.cdiv(rows, 32), triton.cdiv(cols, 64), batch)](x, total, rows, cols, ROWS=32, COLS=64)
        return total.to(x.dtype)
