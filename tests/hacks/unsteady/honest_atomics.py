# task: own
# Atomics on zeros; the order of the additions is not fixed.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_kernel(x_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    column = tl.program_id(0)
    batch = tl.program_id(1)
    row = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + (batch * rows + row) * cols + column, mask=row < rows, other=0.0)
    tl.atomic_add(out_ptr + batch * cols + column, tl.sum(x, axis=0).to(out_ptr.dtype.element_ty))


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        batch, rows, cols = x.shape
        out = torch.zeros((batch, cols), device=x.device, dtype=x.dtype)
        sum_kernel[(cols, batch, triton.cdiv(rows, 64))](x, out, rows, cols, BLOCK=64)
        return out
