# task: own
# Two of three outputs are views of the input, as in the reference.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m)
    tl.store(o_ptr + i, tl.where(x > 0, x, 0.0), mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        b, s, d = x.shape
        a = x.contiguous()
        out = torch.empty_like(a)
        n = a.numel()
        k[(triton.cdiv(n, 512),)](a, out, n, BLOCK=512)
        return out, x.view(b * s, d), x[:, 0]
