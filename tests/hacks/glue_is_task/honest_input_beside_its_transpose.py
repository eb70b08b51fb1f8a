# task: own
# The input is handed on; the kernel transposes.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def t(x, o, R, C, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.program_id(1) * B + tl.arange(0, B)
    m = (r[:, None] < R) & (c[None, :] < C)
    v = tl.load(x + r[:, None] * C + c[None, :], m)
    tl.store(o + c[:, None] * R + r[None, :], tl.trans(v), tl.trans(m))


class ModelNew(nn.Module):
    def forward(self, x):
        a = x.contiguous()
        R, C = a.shape
        o = torch.empty((C, R), dtype=x.dtype, device=x.device)
        t[(triton.cdiv(R, 32), triton.cdiv(C, 32))](a, o, R, C, B=32)
        return x, o
