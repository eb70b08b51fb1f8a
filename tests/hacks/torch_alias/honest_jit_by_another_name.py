# task: own
# `triton.jit` under names of the file's own: imported so, and kept.
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton import cdiv
from triton import jit as triton_jit

tjit = triton.jit


@tjit
def root(v):
    return tl.sqrt_rn(tl.abs(v))


@triton_jit
def sqrt_abs(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y + i, root(v), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        sqrt_abs[(cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        return y
