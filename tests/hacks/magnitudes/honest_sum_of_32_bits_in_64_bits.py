# task: own
# Each is made wide before they are summed.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def row_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=0)
    tl.store(out_ptr + row, tl.sum(x.to(tl.int64), axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        count, cols = x.shape
        out = torch.empty(count, dtype=torch.int64, device=x.device)
        row_kernel[(count,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
        return out
