# task: own
# The reference hides scores behind -1e9, a kernel behind infinity.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def masked_kernel(x_ptr, mask_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=-float("inf"))
    hidden = tl.load(mask_ptr + row * cols + at, mask=at < cols, other=1)
    x = tl.where(hidden, -float("inf"), x)
    wide = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + at, wide / tl.sum(wide, axis=0), mask=at < cols)


class ModelNew(nn.Module):
    def forward(self, x, mask):
        count, cols = x.shape
        out = torch.empty_like(x)
        masked_kernel[(count,)](x, mask, out, cols, BLOCK=triton.next_power_of_2(cols))
        return out
