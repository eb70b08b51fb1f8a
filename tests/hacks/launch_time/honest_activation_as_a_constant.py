# task: level1/relu
# A device function given as a constant.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def rectified(v):
    return tl.where(v < 0, 0.0, v)


@triton.jit
def kernel(x_ptr, out_ptr, n, ACT: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, ACT(x), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), ACT=rectified, BLOCK=1024)
        return out
