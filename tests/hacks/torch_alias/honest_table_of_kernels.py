# task: level1/relu
# A table too, but of kernels.
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


@triton.jit
def sign_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.where(x > 0, 1.0, -1.0), mask=mask)


KERNELS = {"relu": relu_kernel, "sign": sign_kernel}


class ModelNew(nn.Module):
    def __init__(self, name: str = "relu"):
        super(ModelNew, self).__init__()
        self.kernel = KERNELS[name]

    def forward(self, x):
        out = torch.empty_like(x)
        self.kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
        return out
