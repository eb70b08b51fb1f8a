# task: level1/relu
# Allocators and view functions under other names.
import torch
import triton
import triton.language as tl
from torch import nn

empty_like, cdiv = torch.empty_like, triton.cdiv


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = empty_like(x)
        relu_kernel[(cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
        return out
