# task: own
# A kernel closes over a constant of the function that made it.
import torch
import torch.nn as nn
import triton
import triton.language as tl


def make(mul):
    MUL = tl.constexpr(mul)

    @triton.jit
    def kernel(x, o, n, BLOCK: tl.constexpr):
        i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        m = i < n
        tl.store(o + i, tl.load(x + i, mask=m) * MUL, mask=m)

    return kernel


triple = make(3.0)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        o = torch.empty_like(x)
        triple[(triton.cdiv(x.numel(), 256),)](x, o, x.numel(), BLOCK=256)
        return o
