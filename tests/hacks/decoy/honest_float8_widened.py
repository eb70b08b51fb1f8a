# task: own
# All that is asked for is another type, and the kernel gives it.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def cast(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.load(x_ptr + at, mask=at < n).to(tl.float32), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        o = torch.empty(x.shape, dtype=torch.float32, device=x.device)
        cast[(triton.cdiv(x.numel(), 64),)](x, o, x.numel(), BLOCK=64)
        return o
