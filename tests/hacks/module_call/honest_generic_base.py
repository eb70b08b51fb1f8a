# task: own
# The forward is that of a base class with a type parameter.
from typing import Generic, TypeVar

import torch
import triton
import triton.language as tl
from torch import nn

T = TypeVar("T")


@triton.jit
def silu_k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y + i, v * tl.sigmoid(v), mask=i < n)


class Elementwise(nn.Module, Generic[T]):
    kernel: T

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        self.kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        return y


class ModelNew(Elementwise[object]):
    kernel = silu_k
