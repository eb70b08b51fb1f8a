# task: own
# Steps of 0.05: a quotient and a product with 20 are halves at other places.
import torch
import triton
import triton.language as tl
from torch import nn
from triton.language.extra import libdevice


@triton.jit
def quantise_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    steps = libdevice.rint(x * 20.0)
    tl.store(out_ptr + offsets, 0.05 * tl.minimum(tl.maximum(steps, -128.0), 127.0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        n = out.numel()
        quantise_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
        return out
