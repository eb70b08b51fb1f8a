# task: own
# Columns are promised to rise, those behind the end are kept at the first one, and stored at falling places.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < cols
    r = tl.max_contiguous(tl.multiple_of(tl.where(m, c, 0), BLOCK), BLOCK)
    y = tl.load(x_ptr + row * cols + r, mask=m)
    tl.store(out_ptr + row * cols + cols - 1 - r, y * 3.0, mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        cols = x.shape[-1]
        rows = x.numel() // cols
        out = torch.empty_like(x)
        kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
        return out
