# task: own
# The first launch copies everything, the second one writes the borders over it.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0) * 2.0, mask=at < n)


@triton.jit
def border_kernel(out_ptr, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    zero = tl.zeros((BLOCK,), tl.float32)
    tl.store(out_ptr + row * cols, zero, mask=row < rows)
    tl.store(out_ptr + row * cols + cols - 1, zero, mask=row < rows)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty_like(x)
        double_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
        border_kernel[(triton.cdiv(rows, 128),)](out, rows, cols, BLOCK=128)
        return out
