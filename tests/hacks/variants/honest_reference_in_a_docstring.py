# task: own
# The docstring of a kernel quotes a function.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def double_kernel(x, y, n, BLOCK: tl.constexpr):
    """Doubles a tensor. The reference is

    def forward(x):
        return x * 2
    """
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        double_kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        return y
