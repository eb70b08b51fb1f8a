# task: own
# Kernels that a decorator of the file keeps in a table, of which the model takes one.
import torch
import triton
import triton.language as tl
from torch import nn

REGISTRY = {}


def register(name):
    def deco(fn):
        REGISTRY[name] = fn
        return fn

    return deco


@register("silu")
@triton.jit
def silu_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n).to(tl.float32)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


@register("logsigmoid")
@triton.jit
def logsigmoid_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    e = tl.exp(-tl.abs(v))
    u = 1.0 + e
    low = tl.where(u == 1.0, e, tl.log(u) * (e / tl.where(u == 1.0, 1.0, u - 1.0)))
    tl.store(y + i, tl.minimum(v, 0.0) - low, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kernel = REGISTRY[kind]

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        self.kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y
