# task: level1/relu
# Private names that the file itself defines, a named tuple's methods, and what type says.
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.where(x < 0, 0.0, x), mask=mask)


class Plan(NamedTuple):
    block: int = 512


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self._plan = Plan()._replace(block=1024)
        self._values = {}

    def _launch(self, x, out):
        block = self._values.setdefault(type(x).__name__, self._plan.block)
        relu_kernel[(triton.cdiv(x.numel(), block),)](x, out, x.numel(), BLOCK=block)

    def forward(self, x):
        if type(x) is not torch.Tensor:
            raise TypeError("a tensor is wanted")
        out = torch.empty_like(x)
        self._launch(x, out)
        return out
