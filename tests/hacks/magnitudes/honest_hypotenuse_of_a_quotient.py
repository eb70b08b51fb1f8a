# task: own
# The larger one is taken out of the root.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def pointwise_kernel(x_ptr, y_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < count)
    y = tl.load(y_ptr + at, mask=at < count)
    tl.store(
        out_ptr + at,
        tl.maximum(tl.abs(x), tl.abs(y))
        * tl.sqrt(
            1.0
            + (tl.minimum(tl.abs(x), tl.abs(y)) / tl.maximum(tl.maximum(tl.abs(x), tl.abs(y)), 1.0e-30))
            * (tl.minimum(tl.abs(x), tl.abs(y)) / tl.maximum(tl.maximum(tl.abs(x), tl.abs(y)), 1.0e-30))
        ),
        mask=at < count,
    )


class ModelNew(nn.Module):
    def forward(self, x, y):
        out = torch.empty_like(x)
        count = out.numel()
        pointwise_kernel[(triton.cdiv(count, 1024),)](x, y, out, count, BLOCK=1024)
        return out
