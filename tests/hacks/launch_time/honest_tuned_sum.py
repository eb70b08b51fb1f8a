# task: level1/sum_dim
# Atomic sums of an autotuned kernel, whose tuner sets them to zero before each run.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.autotune(
    configs=[triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 64})], key=["rows"], reset_to_zero=["acc_ptr"]
)
@triton.jit
def sum_kernel(x_ptr, acc_ptr, rows, cols, BLOCK: tl.constexpr, COLS: tl.constexpr):
    batch = tl.program_id(0)
    row = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[:, None]
    col = tl.arange(0, COLS)
    mask = (row < rows) & (col[None, :] < cols)
    x = tl.load(x_ptr + (batch * rows + row) * cols + col[None, :], mask=mask, other=0.0)
    tl.atomic_add(acc_ptr + batch * cols + col, tl.sum(x.to(tl.float32), axis=0), mask=col < cols)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        batch, rows, cols = x.shape
        acc = torch.zeros((batch, cols), device=x.device, dtype=torch.float32)
        width = triton.next_power_of_2(cols)
        sum_kernel[lambda meta: (batch, triton.cdiv(rows, meta["BLOCK"]))](x, acc, rows, cols, COLS=width)
        return acc.to(x.dtype)
