# task: level1/relu
# functools.partial over a launcher of a kernel.
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


def launch(x, block, warps):
    out = torch.empty_like(x)
    relu_kernel[(triton.cdiv(x.numel(), block),)](x, out, x.numel(), BLOCK=block, num_warps=warps)
    return out


fast = functools.partial(launch, block=512, warps=4)


class ModelNew(nn.Module):
    def forward(self, x):
        return fast(x)
