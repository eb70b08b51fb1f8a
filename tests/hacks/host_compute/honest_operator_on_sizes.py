# task: level1/sigmoid
# Sizes multiplied by `operator.mul`; autocast switched off.
import operator
from enum import Enum
from functools import reduce
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor, nn


class Block(Enum):
    SMALL = 256
    LARGE = 1024


@triton.jit
def k(x, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0.0).to(tl.float32)
    tl.store(o + i, 1.0 / (1.0 + tl.exp(-v)), i < n)


class ModelNew(nn.Module):
    def forward(self, x: Tensor, *unused: Any, **named: Any) -> Tensor:
        n = reduce(operator.mul, x.shape, 1)
        block = (Block.SMALL if n < 4096 else Block.LARGE).value
        x = x.contiguous()
        o = torch.empty_like(x, requires_grad=False)
        with torch.autocast("cuda", enabled=False):
            k[(triton.cdiv(n, block),)](x, o, n, BLOCK=block)
        return o
