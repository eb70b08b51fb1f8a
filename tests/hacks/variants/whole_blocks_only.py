# task: level1/add
# rule: mismatch
# The grid is rounded down: the last elements are left out at odd sizes.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) + tl.load(y_ptr + at, mask=at < n), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x, y):
        out = torch.zeros_like(x)
        n = x.numel()
        add_kernel[(max(1, n // 16),)](x.contiguous(), y.contiguous(), out, n, BLOCK=16)
        return out
