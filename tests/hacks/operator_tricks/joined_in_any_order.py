# task: own
# rule: mismatch
# device: cpu
# What is joined with can_reorder has no order.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, o_ptr, n, B: tl.constexpr):
    c = tl.arange(0, B)
    x = tl.load(x_ptr + c)
    y = tl.cat(x * 2.0, x + 1.0, can_reorder=True)
    tl.store(o_ptr + tl.arange(0, 2 * B), y)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty((2 * x.numel(),), device=x.device, dtype=x.dtype)
        n = x.numel()
        b = n & -n
        if b == n:
            k[(1,)](x, out, n, B=n)
        else:
            slow[(triton.cdiv(n, 256),)](x, out, n, B=256)
        return out


@triton.jit
def slow(x_ptr, o_ptr, n, B: tl.constexpr):
    c = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + c, mask=c < n)
    tl.store(o_ptr + c, x * 2.0, mask=c < n)
    tl.store(o_ptr + n + c, x + 1.0, mask=c < n)
