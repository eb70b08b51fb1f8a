# task: level1/add
# A flag for aligned memory, as vectorised loads want it.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, ALIGNED: tl.constexpr, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    if ALIGNED:
        start = tl.multiple_of(start, 16)
    at = start + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x + y, mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x, y):
        out = torch.empty_like(x)
        aligned = all(t.data_ptr() % 16 == 0 for t in (x, y, out))
        n = x.numel()
        add_kernel[(triton.cdiv(n, 512),)](x.contiguous(), y.contiguous(), out, n, ALIGNED=aligned, BLOCK=512)
        return out
