# task: own
# A number among its arguments is kept, and is that of the call at hand.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(x_ptr, out_ptr, n, s, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    x = tl.load(x_ptr + o, mask=m, other=0.0).to(tl.float32) * s
    tl.store(out_ptr + o, 2 * tl.sigmoid(2 * x) - 1, mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = None

    def forward(self, x, s):
        x = x.contiguous()
        out = torch.empty_like(x)
        n = x.numel()
        self.s = s
        kernel[(triton.cdiv(n, 512),)](x, out, n, self.s, BLOCK=512)
        return out
