# task: own
# A condition on a number, joined to a mask over a block.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x, o, R, C, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = c < C
    acc = tl.zeros((BLOCK,), tl.float32)
    for r in range(R):
        acc += tl.load(x + r * C + c, m, other=0.0).to(tl.float32)
        tl.store(o + c, acc, m & (r == R - 1))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        R, C = x.shape
        o = torch.empty(C, dtype=x.dtype, device=x.device)
        k[(triton.cdiv(C, 64),)](x, o, R, C, BLOCK=64)
        return o
