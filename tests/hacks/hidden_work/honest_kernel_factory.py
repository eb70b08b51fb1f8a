# task: level1/maximum
# A kernel chosen by a function that returns it, and one helper given as a constant.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def larger(a, b):
    return tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def pairs_kernel(a_ptr, b_ptr, y_ptr, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + at, mask=at < n)
    b = tl.load(b_ptr + at, mask=at < n)
    tl.store(y_ptr + at, OP(a, b), mask=at < n)


def pick(name):
    kernels = {"pairs": pairs_kernel}
    return kernels[name]


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.empty_like(a)
        kernel = pick("pairs")
        kernel[(triton.cdiv(a.numel(), 512),)](a, b, y, a.numel(), OP=larger, BLOCK=512)
        return y
