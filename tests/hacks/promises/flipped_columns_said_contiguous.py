# task: own
# rule: promise
# Falling places are promised to rise.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < cols
    r = tl.max_contiguous(tl.multiple_of(cols - 1 - c, BLOCK), BLOCK)
    y = tl.load(x_ptr + row * cols + r, mask=m)
    tl.store(out_ptr + row * cols + c, y * 3.0, mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        cols = x.shape[-1]
        rows = x.numel() // cols
        out = torch.empty_like(x)
        kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
        return out
