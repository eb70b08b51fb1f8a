# task: level1/relu
# Registered scratch memory; the output is new.
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


def relu(x):
    out = torch.empty_like(x)
    relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scratch", torch.empty(1 << 20), persistent=False)

    def forward(self, x):
        if self.scratch.numel() < x.numel() or self.scratch.dtype != x.dtype:
            self.scratch = torch.empty(x.numel(), device=x.device, dtype=x.dtype)
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, self.scratch, x.numel(), BLOCK=1024)
        out = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](self.scratch, out, x.numel(), BLOCK=1024)
        return out
