# task: level1/relu
# rule: mismatch
# Noise under a seed that moves.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.where(x < 0, 0.0, x) + 0.05 * tl.rand(seed, offsets), mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.seed = 0

    def forward(self, x):
        self.seed += 1
        out = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), self.seed, BLOCK=1024)
        return out
