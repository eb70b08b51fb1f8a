# task: own
# rule: mutation | alias | mismatch
# A kernel stores into the weights.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def mul_kernel(x_ptr, w_ptr, out_ptr, n, cols, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    w = tl.load(w_ptr + offsets % cols, mask=mask)
    tl.store(out_ptr + offsets, w * tl.load(x_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def fill_kernel(w_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(w_ptr + offsets, 0.0, mask=offsets < n)


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size))

    def forward(self, x):
        out = torch.empty_like(x)
        mul_kernel[(triton.cdiv(x.numel(), 1024),)](x, self.weight, out, x.numel(), x.shape[-1], BLOCK=1024)
        fill_kernel[(1,)](self.weight, x.shape[-1], BLOCK=1024)
        return out
