# task: level1/relu
# What is written as floats is copied as bytes.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.maximum(tl.load(x + i, i < n), 0)
    tl.store(o + i, v, i < n)


@triton.jit
def words(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, i < n), i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y, o = torch.empty_like(x), torch.empty_like(x)
        k[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        a, b = y.view(torch.uint8).view(-1), o.view(torch.uint8).view(-1)
        words[(triton.cdiv(a.numel(), 1024),)](a, b, a.numel(), BLOCK=1024)
        return o
