# task: own
# What stands for a missing value is a number that no input is as small as.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def row_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=-1.0e30)
    tl.store(out_ptr + row, tl.max(x, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        count, cols = x.shape
        out = torch.empty(count, dtype=x.dtype, device=x.device)
        row_kernel[(count,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
        return out
