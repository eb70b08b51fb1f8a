# task: own
# Conditions on the program alone, one of them turned round.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x, o, R, C, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    m = c < C
    acc = tl.zeros((BLOCK,), tl.float32)
    for r in tl.range(R):
        acc += tl.load(x + r * C + c, m, other=0.0).to(tl.float32)
    first = tl.program_id(0) != 0
    tl.store(o + c, acc, mask=m & ~first & (R > 0))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        R, C = x.shape
        o = torch.empty(C, dtype=x.dtype, device=x.device)
        k[(2,)](x, o, R, C, BLOCK=triton.next_power_of_2(C))
        return o
