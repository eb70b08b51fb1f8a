# task: level1/sum_dim
# rule: race
# The first program clears what all add to, and nobody waits for it.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_kernel(x_ptr, acc_ptr, rows, cols, BLOCK: tl.constexpr, COLS: tl.constexpr):
    batch = tl.program_id(0)
    block = tl.program_id(1)
    row = block * BLOCK + tl.arange(0, BLOCK)[:, None]
    col = tl.arange(0, COLS)
    x = tl.load(
        x_ptr + (batch * rows + row) * cols + col[None, :], mask=(row < rows) & (col[None, :] < cols), other=0.0
    )
    part = tl.sum(x.to(tl.float32), axis=0)
    at = acc_ptr + batch * cols + col
    if block == 0:
        tl.store(at, tl.zeros((COLS,), tl.float32), mask=col < cols)
    tl.atomic_add(at, part, mask=col < cols)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        batch, rows, cols = x.shape
        acc = torch.empty((batch, cols), device=x.device, dtype=torch.float32)
        sum_kernel[(batch, triton.cdiv(rows, 16))](x, acc, rows, cols, BLOCK=16, COLS=triton.next_power_of_2(cols))
        return acc.to(x.dtype)
