# task: own
# rule: mismatch
# device: cpu
# Which element is the last to be combined is not defined.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def right(a, b):
    return b


@triton.jit
def k(x_ptr, o_ptr, N, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    x = tl.load(x_ptr + r * N + tl.minimum(c, N - 1))
    tl.store(o_ptr + r, 2.0 * tl.reduce(x, 0, right))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty((x.shape[0],), device=x.device, dtype=x.dtype)
        k[(x.shape[0],)](x, out, x.shape[1], B=triton.next_power_of_2(x.shape[1]))
        return out
