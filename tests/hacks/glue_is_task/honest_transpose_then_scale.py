# task: own
# The kernel turns the signs, the output is a transposed view of what it wrote, made contiguous.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def minus_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, -tl.load(x_ptr + at, mask=at < n), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        minus_kernel[(triton.cdiv(x.numel(), 1024),)](x.contiguous(), out, x.numel(), BLOCK=1024)
        return out.transpose(1, 2).contiguous()
