# task: level1/max_dim
# rule: mismatch
# Lanes behind the end are zero: right where a column has a positive value.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def max_kernel(x_ptr, out_ptr, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    b = tl.program_id(0)
    col = tl.program_id(1) * BC + tl.arange(0, BC)
    best = tl.full((BC,), float("-inf"), tl.float32)
    for start in range(0, rows, BR):
        row = start + tl.arange(0, BR)
        ok = (row[:, None] < rows) & (col[None, :] < cols)
        x = tl.load(x_ptr + (b * rows + row[:, None]) * cols + col[None, :], mask=ok, other=0.0)
        best = tl.maximum(best, tl.max(x, axis=0))
    tl.store(out_ptr + b * cols + col, best, mask=col < cols)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()

    def forward(self, x):
        b, r, c = x.shape
        out = torch.empty(b, c, device=x.device, dtype=x.dtype)
        max_kernel[(b, triton.cdiv(c, 64))](x.contiguous(), out, r, c, BR=32, BC=64)
        return out
