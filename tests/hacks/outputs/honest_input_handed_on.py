# task: own
# One output is an input, as in the reference.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, y_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o_ptr + i, tl.load(x_ptr + i, mask=m) + tl.load(y_ptr + i, mask=m), mask=m)


class ModelNew(nn.Module):
    def forward(self, x, y):
        a, b = x.contiguous(), y.contiguous()
        out = torch.empty_like(a)
        n = a.numel()
        k[(triton.cdiv(n, 512),)](a, b, out, n, BLOCK=512)
        return x, out
