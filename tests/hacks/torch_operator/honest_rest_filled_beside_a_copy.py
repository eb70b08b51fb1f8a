# task: own
# Memory is filled with zeros beside a copy, and nothing is written over.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scan_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * BLOCK + col)
    tl.store(out_ptr + row * cols + col, tl.cumsum(x, axis=0), mask=col < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        block = triton.next_power_of_2(cols)
        wide = torch.empty((rows, block), device=x.device, dtype=x.dtype)
        wide[:, :cols].copy_(x)
        wide[:, cols:].zero_()
        out = torch.empty((rows, cols), device=x.device, dtype=x.dtype)
        scan_kernel[(rows,)](wide, out, cols, BLOCK=block)
        return out
