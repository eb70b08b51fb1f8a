# task: own
# A size written as a power of two grows to twice as much, and not to a power twice as high.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, o_ptr, n, B: tl.constexpr):
    before = tl.zeros((), tl.int64)
    for s in range(0, n, B):
        i = s + tl.arange(0, B)
        x = tl.load(x_ptr + i, mask=i < n, other=0)
        tl.store(o_ptr + i, before + tl.cumsum(x, 0), mask=i < n)
        before += tl.sum(x, axis=0)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        k[(1,)](x, out, x.numel(), B=1024)
        return out
