# task: own
# Numbers in a list are the kernel's arguments.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def clamp_kernel(x_ptr, out_ptr, low, high, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, tl.minimum(tl.maximum(x, low), high), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x, bounds):
        x = x.contiguous()
        out = torch.empty_like(x)
        clamp_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, bounds[0], bounds[1], x.numel(), BLOCK=1024)
        return out
