# task: own
# rule: mismatch
# Every number is counted, and zeros too.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def count_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < cols
    x = tl.load(x_ptr + row * cols + c, mask=mask, other=0.0)
    tl.store(out_ptr + row, tl.sum(tl.where(mask & (x == x), 1, 0), axis=0).to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty(rows, device=x.device, dtype=torch.int64)
        count_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
        return out
