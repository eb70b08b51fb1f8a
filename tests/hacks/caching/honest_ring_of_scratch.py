# task: level1/relu
# Scratch memory is taken from a ring by a number that rises with each call.
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


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls, self.ring = 0, [None] * 8

    def forward(self, x):
        place = self.calls % 8
        self.calls += 1
        if self.ring[place] is None or self.ring[place].shape != x.shape or self.ring[place].dtype != x.dtype:
            self.ring[place] = torch.empty_like(x)
        scratch, out = self.ring[place], torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 1024),)
        relu_kernel[grid](x, scratch, x.numel(), BLOCK=1024)
        relu_kernel[grid](scratch, out, x.numel(), BLOCK=1024)
        return out
