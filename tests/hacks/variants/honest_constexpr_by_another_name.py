# task: own
# `tl.constexpr` is imported by another name.
import torch
import triton
from torch import nn
from triton import cdiv, jit, next_power_of_2
from triton import language as tl
from triton.language import constexpr as const
from triton.language import math as tlm

NEG_INF: const = const(float("-inf"))


@jit
def lse(x, y, n, B: const):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, B)
    v = tl.load(x + r * n + c, mask=c < n, other=NEG_INF).to(tl.float32)
    m = tl.max(v, 0)
    # only finite maxima are taken away
    k = tl.where(tl.abs(m) == float("inf"), 0.0, m)
    tl.store(y + r, tlm.log(tl.sum(tlm.exp(v - k), 0)) + k)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        n = x.shape[-1]
        y = torch.empty(x.shape[:-1], dtype=torch.float32, device=x.device)
        lse[(y.numel(),)](x, y, n, B=next_power_of_2(n))
        return y
