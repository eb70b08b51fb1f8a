# task: tasks/nan_to_num
# Zero stands for what is no number, the largest numbers for the infinities.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, o_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    x = tl.load(x_ptr + i, mask=m).to(tl.float32)
    x = tl.where(x == x, x, 0.0)
    x = tl.minimum(tl.maximum(x, -3.4028234e38), 3.4028234e38)
    tl.store(o_ptr + i, x / (1.0 + tl.exp(-x)), mask=m)


def run(x):
    x = x.contiguous()
    o = torch.empty_like(x)
    k[(triton.cdiv(x.numel(), 1024),)](x, o, x.numel(), B=1024)
    return o


class ModelNew(nn.Module):
    def forward(self, x):
        return run(x)
