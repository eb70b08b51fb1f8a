# task: level1/relu
# A decorator that makes arguments contiguous.
import functools

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=mask)


def contiguous(function):
    @functools.wraps(function)
    def call(*args):
        return function(*(a.contiguous() if isinstance(a, torch.Tensor) else a for a in args))

    return call


@contiguous
def relu(x):
    out = torch.empty_like(x)
    relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out


class ModelNew(nn.Module):
    @torch.no_grad()
    def forward(self, x):
        return relu(x)
