# task: level1/relu
# rule: uninitialised
# Halves are written where floats are read.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def write(x, o16, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.maximum(tl.load(x + i, i < n).to(tl.float32), 0)
    tl.store(o16 + 2 * i, v.to(tl.float16), i < n)


@triton.jit
def read(o, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(o + i, i < n)
    w = tl.load(x + i, i < n)
    tl.store(o + i, tl.where(v == v, tl.maximum(w, 0), tl.maximum(w, 0)), i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        o = torch.empty_like(x)
        write[(triton.cdiv(x.numel(), 256),)](x, o.view(torch.float16), x.numel(), BLOCK=256)
        read[(triton.cdiv(x.numel(), 256),)](o, x, x.numel(), BLOCK=256)
        return o
