# task: own
# rule: mismatch
# device: cpu
# A reduction's function must be commutative; a recurrence hangs on the order.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def after(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@triton.jit
def k(a_ptr, b_ptr, o_ptr, N, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    a = tl.load(a_ptr + r * N + c, mask=c < N, other=1.0)
    b = tl.load(b_ptr + r * N + c, mask=c < N, other=0.0)
    p, h = tl.reduce((a, b), 0, after)
    tl.store(o_ptr + r, h)


class ModelNew(nn.Module):
    def forward(self, a, b):
        a, b = a.contiguous(), b.contiguous()
        out = torch.empty((a.shape[0],), device=a.device, dtype=a.dtype)
        k[(a.shape[0],)](a, b, out, a.shape[1], B=triton.next_power_of_2(a.shape[1]))
        return out
