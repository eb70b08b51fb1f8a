# task: own
# rule: mismatch
# Squares overflow in float32; a comment that speaks of int32 spares no one from huge values.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    # offsets are int32
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    x = tl.load(x_ptr + o, mask=m, other=0.0)
    y = tl.sqrt(x * x + tl.load(y_ptr + o, mask=m, other=0.0) * tl.load(y_ptr + o, mask=m, other=0.0))
    tl.store(out_ptr + o, y, mask=m)


class ModelNew(nn.Module):
    def forward(self, x, y):
        x = x.contiguous()
        out = torch.empty_like(x)
        n = x.numel()
        kernel[(triton.cdiv(n, 1024),)](x, y.contiguous(), out, n, BLOCK=1024)
        return out
