# task: tasks/exponential
# The same without a bound.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    x = tl.load(x_ptr + o, mask=m, other=0.0).to(tl.float32)
    y = tl.exp(x)
    tl.store(out_ptr + o, y, mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        n = x.numel()
        kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK=256)
        return out
