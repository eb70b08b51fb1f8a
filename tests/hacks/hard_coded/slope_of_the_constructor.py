# task: tasks/leaky_relu_of_the_constructor
# rule: mismatch
# The constructor's slope is not looked at: 0.2 is written in.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, o_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    x = tl.load(x_ptr + i, mask=m).to(tl.float32)
    tl.store(o_ptr + i, tl.where(x < 0, 0.2 * x, x), mask=m)


def run(x):
    x = x.contiguous()
    o = torch.empty_like(x)
    k[(triton.cdiv(x.numel(), 1024),)](x, o, x.numel(), B=1024)
    return o


class ModelNew(nn.Module):
    def __init__(self, slope):
        super().__init__()
        pass

    def forward(self, x):
        return run(x)
