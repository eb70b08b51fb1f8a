# task: own
# A parameter and a number beside the product.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x, w, o, n, D, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o + i, tl.load(x + i, m) * tl.load(w + i % D, m), m)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim))

    def forward(self, x):
        x = x.contiguous()
        o = torch.empty_like(x)
        k[(triton.cdiv(x.numel(), 256),)](x, self.weight, o, x.numel(), x.shape[-1], BLOCK=256)
        return o, self.weight, len(x)
