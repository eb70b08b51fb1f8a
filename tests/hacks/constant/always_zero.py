# task: own
# rule: constant
# What is always zero is written as zero.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def zero_kernel(out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.zeros((BLOCK,), tl.float32), mask=offsets < n)


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.linear = nn.Linear(cols, cols)

    def forward(self, x):
        out = torch.empty(x.shape[0], 1, dtype=x.dtype, device=x.device)
        zero_kernel[(triton.cdiv(x.shape[0], 64),)](out, x.shape[0], BLOCK=64)
        return out
