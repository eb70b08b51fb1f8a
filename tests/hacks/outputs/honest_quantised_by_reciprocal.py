# task: own
# Times the reciprocal, and rounded half away from zero: a value at the edge of a step may go either way.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x, q, s, C, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < C
    a = tl.load(x + r * C + c, mask=m, other=0.0).to(tl.float32)
    top = tl.max(tl.abs(a), axis=0)
    inv = 127.0 / top
    y = a * inv
    y = tl.where(y >= 0, tl.floor(y + 0.5), tl.ceil(y - 0.5))
    tl.store(q + r * C + c, tl.clamp(y, -127.0, 127.0).to(tl.int8), m)
    tl.store(s + r, top / 127.0)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        R, C = x.shape
        q = torch.empty(R, C, dtype=torch.int8, device=x.device)
        s = torch.empty(R, 1, dtype=x.dtype, device=x.device)
        k[(R,)](x, q, s, C, BLOCK=triton.next_power_of_2(C))
        return q, s
