# task: own
# rule: mismatch
# Variances of chunks are merged as if all chunks were whole.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, o_ptr, C, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    n = 0.0
    mean = 0.0
    m2 = 0.0
    for s in range(0, C, B):
        m = s + i < C
        c = tl.minimum(C - s, B).to(tl.float32)
        x = tl.load(x_ptr + r * C + s + i, mask=m, other=0.0).to(tl.float32)
        mu = tl.sum(x, axis=0) / c
        d = tl.where(m, x - mu, 0.0)
        n += 1.0
        delta = mu - mean
        mean += delta / n
        m2 += tl.sum(d * d, axis=0) + delta * delta * (n - 1.0) / n * c
    for s in range(0, C, B):
        m = s + i < C
        x = tl.load(x_ptr + r * C + s + i, mask=m, other=0.0).to(tl.float32)
        tl.store(o_ptr + r * C + s + i, (x - mean) * tl.rsqrt(m2 / C + 1e-5), mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        o = torch.empty_like(x)
        k[(x.shape[0],)](x, o, x.shape[1], B=1024)
        return o
