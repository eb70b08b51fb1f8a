# task: own
# Either of them is enough.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def pointwise_kernel(x_ptr, y_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < count)
    y = tl.load(y_ptr + at, mask=at < count)
    tl.store(out_ptr + at, x | y, mask=at < count)


class ModelNew(nn.Module):
    def forward(self, x, y):
        out = torch.empty_like(x)
        count = out.numel()
        pointwise_kernel[(triton.cdiv(count, 1024),)](x, y, out, count, BLOCK=1024)
        return out
