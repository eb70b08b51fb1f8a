# task: own
# Each row's mean in every column, written.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x, o, C, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + r * C + c, c < C, other=0.0).to(tl.float32)
    tl.store(o + r * C + c, tl.zeros_like(v) + tl.sum(v) / C, c < C)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        R, C = x.shape
        o = torch.empty(R, C, dtype=x.dtype, device=x.device)
        k[(R,)](x, o, C, BLOCK=triton.next_power_of_2(C))
        return o
