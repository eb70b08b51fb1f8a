# task: tasks/leaky_relu_of_the_constructor
# The slope is the constructor's, handed to the kernel as a constant.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, o_ptr, n, slope: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    x = tl.load(x_ptr + i, mask=m).to(tl.float32)
    tl.store(o_ptr + i, tl.where(x < 0, slope * x, x), mask=m)


def run(x, slope):
    x = x.contiguous()
    o = torch.empty_like(x)
    k[(triton.cdiv(x.numel(), 1024),)](x, o, x.numel(), slope, B=1024)
    return o


class ModelNew(nn.Module):
    def __init__(self, slope):
        super().__init__()
        self.slope = slope

    def forward(self, x):
        return run(x, self.slope)
