# task: level1/relu
# rule: torch-attribute | torch-compute
# A method by its name.
import operator

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, i < n), i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = operator.methodcaller("relu")(x)
        o = torch.empty_like(y)
        k[(triton.cdiv(x.numel(), 256),)](y, o, x.numel(), BLOCK=256)
        return o
