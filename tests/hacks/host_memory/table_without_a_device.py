# task: own
# rule: exception
# Positions are made on the CPU and given to a kernel.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, t_ptr, o_ptr, N, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    x = tl.load(x_ptr + r * N + c, mask=c < N, other=0.0)
    tl.store(o_ptr + r * N + c, x + tl.load(t_ptr + c, mask=c < N, other=0), mask=c < N)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        k[(x.shape[0],)](x, torch.arange(x.shape[1]), out, x.shape[1], B=triton.next_power_of_2(x.shape[1]))
        return out
