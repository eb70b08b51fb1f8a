# task: own
# A model that keeps a stored running average of its inputs, written by the kernel in place as the reference does.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def average_kernel(x_ptr, state_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = at < n
    x = tl.load(x_ptr + at, mask=ok)
    s = 0.9 * tl.load(state_ptr + at, mask=ok) + 0.1 * x
    tl.store(state_ptr + at, s, mask=ok)
    tl.store(out_ptr + at, x - s, mask=ok)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.register_buffer("state", torch.zeros(features))

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        average_kernel[(triton.cdiv(x.numel(), 1024),)](x, self.state, out, x.numel(), BLOCK=1024)
        return out
