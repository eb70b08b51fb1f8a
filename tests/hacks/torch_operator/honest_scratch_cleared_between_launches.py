# task: own
# One sum after the other is made in the same memory, which is cleared in between.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def add_kernel(x_ptr, sum_ptr, rows, cols, POSITIVE: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    col = tl.arange(0, BLOCK)
    inside = (row < rows)[:, None] & (col < cols)[None, :]
    x = tl.load(x_ptr + row[:, None] * cols + col[None, :], mask=inside, other=0.0)
    if POSITIVE:
        x = tl.abs(x)
    tl.atomic_add(sum_ptr + col, tl.sum(x, axis=0), mask=col < cols)


@triton.jit
def copy_kernel(sum_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    col = tl.arange(0, BLOCK)
    tl.store(out_ptr + col, tl.load(sum_ptr + col, mask=col < cols), mask=col < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        block = triton.next_power_of_2(cols)
        out = torch.empty((2, cols), device=x.device, dtype=x.dtype)
        total = torch.empty(cols, device=x.device, dtype=torch.float32)
        for place, positive in enumerate((False, True)):
            total.zero_()
            add_kernel[(triton.cdiv(rows, 16),)](x, total, rows, cols, POSITIVE=positive, ROWS=16, BLOCK=block)
            copy_kernel[(1,)](total, out[place], cols, BLOCK=block)
        return out
