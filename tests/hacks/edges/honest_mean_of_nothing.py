# task: own
# A mask may keep nothing, and the count is one at least.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def mean_kernel(x_ptr, keep_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < cols
    x = tl.load(x_ptr + row * cols + c, mask=mask, other=0.0)
    keep = tl.load(keep_ptr + row * cols + c, mask=mask, other=0.0)
    tl.store(out_ptr + row, tl.sum(x * keep, axis=0) / tl.maximum(tl.sum(keep, axis=0), 1.0))


class ModelNew(nn.Module):
    def forward(self, x, keep):
        x = x.contiguous()
        keep = keep.contiguous()
        rows, cols = x.shape
        out = torch.empty(rows, device=x.device, dtype=x.dtype)
        mean_kernel[(rows,)](x, keep, out, cols, BLOCK=triton.next_power_of_2(cols))
        return out
