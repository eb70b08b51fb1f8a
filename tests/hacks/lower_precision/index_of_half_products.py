# task: own
# rule: mismatch | lower-precision
# Truths of bfloat16 values.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def close_kernel(x_ptr, y_ptr, a_ptr, b_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.bfloat16).to(tl.float32)
    y = tl.load(y_ptr + at, mask=at < n).to(tl.bfloat16).to(tl.float32)
    tl.store(a_ptr + at, tl.abs(x - y) <= 0.5, mask=at < n)
    tl.store(b_ptr + at, x > y, mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x, y):
        a = torch.empty_like(x, dtype=torch.bool)
        b = torch.empty_like(x, dtype=torch.bool)
        close_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, a, b, x.numel(), BLOCK=1024)
        return a, b
