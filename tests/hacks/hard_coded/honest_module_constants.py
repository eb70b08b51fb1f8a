# task: level1/relu
# Tile sizes, a constexpr global and typed settings at the module's top.
import torch
import triton
import triton.language as tl
from torch import nn

BLOCK: int = 512
NUM_WARPS = 4
ZERO = tl.constexpr(0.0)
PROGRAMS = 16


@triton.jit
def positive(x):
    """Device function: the part that is not negative."""
    return tl.where(x > ZERO, x, ZERO)


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    """A persistent loop: each program takes every PROGRAMS-th block."""
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(out_ptr + offsets, positive(tl.load(x_ptr + offsets, mask=mask)), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        n = x.numel()
        relu_kernel[(min(PROGRAMS, triton.cdiv(n, BLOCK)),)](x, out, n, BLOCK=BLOCK, num_warps=NUM_WARPS)
        return out
