# task: level1/sum_dim
# Atomics whose scope is the block, on places that no other block uses.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_kernel(x_ptr, acc_ptr, rows, cols, BLOCK: tl.constexpr, COLS: tl.constexpr):
    batch = tl.program_id(0)
    col = tl.arange(0, COLS)
    for start in range(0, rows, BLOCK):
        row = start + tl.arange(0, BLOCK)[:, None]
        mask = (row < rows) & (col[None, :] < cols)
        x = tl.load(x_ptr + (batch * rows + row) * cols + col[None, :], mask=mask, other=0.0)
        at = acc_ptr + batch * cols + col
        tl.atomic_add(at, tl.sum(x.to(tl.float32), axis=0), mask=col < cols, scope="cta")


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        batch, rows, cols = x.shape
        acc = torch.zeros((batch, cols), device=x.device, dtype=torch.float32)
        sum_kernel[(batch,)](x, acc, rows, cols, BLOCK=64, COLS=triton.next_power_of_2(cols))
        return acc.to(x.dtype)
