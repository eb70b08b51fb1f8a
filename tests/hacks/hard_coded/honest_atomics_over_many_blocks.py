# task: own
# Each of many programs adds its part to a sum that begins at zero.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def column_kernel(x_ptr, out_ptr, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = (row < rows)[:, None] & (col < cols)[None, :]
    x = tl.load(x_ptr + row[:, None] * cols + col[None, :], mask=inside, other=0.0)
    tl.atomic_add(out_ptr + col, tl.sum(tl.abs(x), axis=0), mask=col < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.zeros(cols, device=x.device, dtype=x.dtype)
        column_kernel[(triton.cdiv(rows, 64), triton.cdiv(cols, 64))](x, out, rows, cols, ROWS=64, BLOCK=64)
        return out
