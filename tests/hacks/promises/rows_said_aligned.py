# task: own
# rule: promise
# Rows of any length are promised to begin at multiples of sixteen.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    base = tl.multiple_of(row * cols, 16)
    for s in range(0, cols // 16 * 16, BLOCK):
        c = s + tl.arange(0, BLOCK)
        m = c < cols // 16 * 16
        tl.store(out_ptr + base + c, tl.exp(tl.load(x_ptr + base + c, mask=m)) * 0.5, mask=m)
    t = cols // 16 * 16 + tl.arange(0, 16)
    tl.store(out_ptr + row * cols + t, tl.exp(tl.load(x_ptr + row * cols + t, mask=t < cols)) * 0.5, mask=t < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=256)
        return out
