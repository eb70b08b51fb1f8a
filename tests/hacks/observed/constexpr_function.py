# task: level1/relu
# rule: torch-attribute
# constexpr_function by another of its names.
import torch
import triton
import triton.language as tl
from torch import nn


@tl.standard.constexpr_function
def act(v):
    if hasattr(v, "handle") and hasattr(v.handle, "data"):
        return tl.where(v < 0, 0.0, v)
    return v


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, act(x), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
        return out
