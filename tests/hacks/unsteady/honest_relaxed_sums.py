# task: level1/sum_dim
# Relaxed atomics on each element; the launch after it reads.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_kernel(x_ptr, acc_ptr, rows, cols, BLOCK: tl.constexpr, COLS: tl.constexpr):
    batch = tl.program_id(0)
    row = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[:, None]
    col = tl.arange(0, COLS)
    x = tl.load(
        x_ptr + (batch * rows + row) * cols + col[None, :], mask=(row < rows) & (col[None, :] < cols), other=0.0
    )
    part = tl.sum(x.to(tl.float32), axis=0)
    tl.atomic_add(acc_ptr + batch * cols + col, part, mask=col < cols, sem="relaxed")


@triton.jit
def cast_kernel(acc_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(acc_ptr + at, mask=at < n), mask=at < n)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        batch, rows, cols = x.shape
        acc = torch.zeros((batch, cols), device=x.device, dtype=torch.float32)
        sum_kernel[(batch, triton.cdiv(rows, 64))](x, acc, rows, cols, BLOCK=64, COLS=triton.next_power_of_2(cols))
        out = torch.empty_like(acc, dtype=x.dtype)
        cast_kernel[(triton.cdiv(acc.numel(), 256),)](acc, out, acc.numel(), BLOCK=256)
        return out
