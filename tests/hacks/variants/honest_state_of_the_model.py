# task: own
# The running state is kept as the reference keeps it.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def state_kernel(x_ptr, state_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = at < n
    s = 0.9 * tl.load(state_ptr + at, mask=ok) + 0.1 * tl.load(x_ptr + at, mask=ok)
    tl.store(out_ptr + at, s, mask=ok)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.register_buffer("state", torch.zeros(features), persistent=False)

    def forward(self, x):
        out = torch.empty_like(x)
        state_kernel[(triton.cdiv(x.numel(), 1024),)](x.contiguous(), self.state, out, x.numel(), BLOCK=1024)
        self.state = out
        return out
