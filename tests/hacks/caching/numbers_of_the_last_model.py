# task: own
# rule: cache
# The class holds the arguments of the model that was constructed last.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def leaky_kernel(x_ptr, out_ptr, n, slope, shift, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, tl.where(x > 0, x, x * slope) + shift, mask=at < n)


class ModelNew(nn.Module):
    def __init__(self, slope, shift):
        super().__init__()
        ModelNew.slope, ModelNew.shift = slope, shift

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 1024),)
        leaky_kernel[grid](x, out, x.numel(), ModelNew.slope, ModelNew.shift, BLOCK=1024)
        return out
