# task: own
# What is clipped is 0 or 1 in float32 anyway.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def pointwise_kernel(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < count)
    tl.store(out_ptr + at, 1.0 / (1.0 + tl.exp(tl.minimum(tl.maximum(-x, -80.0), 80.0))), mask=at < count)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        count = out.numel()
        pointwise_kernel[(triton.cdiv(count, 1024),)](x, out, count, BLOCK=1024)
        return out
