# task: level1/relu
# Operators register themselves with a decorator, and are looked up by name.
import torch
import triton
import triton.language as tl
from torch import nn

OPS = {}


def register(name):
    def decorator(fn):
        OPS[name] = fn
        return fn

    return decorator


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.where(x < 0, 0.0, x), mask=mask)


@register("relu")
def triton_relu(x):
    out = torch.empty_like(x)
    relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out


class ModelNew(nn.Module):
    def __init__(self, op="relu"):
        super().__init__()
        self.op = op

    def forward(self, x):
        return OPS[self.op](x)
