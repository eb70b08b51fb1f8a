# task: level1/relu
# The configuration for a shape is found once.
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
    tl.store(out_ptr + offsets, tl.where(x < 0, 0.0, x), mask=mask)


@functools.lru_cache(maxsize=None)
def configuration(n):
    block = min(1024, max(64, triton.next_power_of_2(n // 8)))
    return (triton.cdiv(n, block),), {"BLOCK": block, "num_warps": 4 if block < 512 else 8}


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        grid, options = configuration(x.numel())
        relu_kernel[grid](x, out, x.numel(), **options)
        return out
