# task: own
# rule: mismatch
# A running maximum that stops at the fifth call; the number of calls is the task's own buffer.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(x_ptr, m_ptr, n_ptr, out_ptr, size, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + c, mask=c < size, other=0.0)
    n = tl.load(n_ptr) + 1
    m = tl.load(m_ptr)
    if n < 5:
        m = tl.maximum(m, tl.max(tl.abs(x), axis=0))
    tl.store(n_ptr, n)
    tl.store(m_ptr, m)
    tl.store(out_ptr + c, x / m, mask=c < size)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("m", torch.tensor(1e-6))
        self.register_buffer("n", torch.tensor(0))

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        kernel[(1,)](x, self.m, self.n, out, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))
        return out
