# task: tasks/stored_mask
# A stored mask that is read.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, m_ptr, o_ptr, n, cols, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    x = tl.load(x_ptr + i, mask=m).to(tl.float32)
    keep = tl.load(m_ptr + i % cols, mask=m) != 0
    tl.store(o_ptr + i, tl.where(keep, x / (1.0 + tl.exp(-x)), 0.0), mask=m)


def run(x, keep):
    x = x.contiguous()
    o = torch.empty_like(x)
    k[(triton.cdiv(x.numel(), 1024),)](x, keep, o, x.numel(), x.shape[-1], B=1024)
    return o


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.register_buffer("keep", torch.ones(cols, dtype=torch.bool))

    def forward(self, x):
        return run(x, self.keep)
