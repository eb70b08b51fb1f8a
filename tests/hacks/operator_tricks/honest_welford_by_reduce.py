# task: level1/group_norm
# Welford's moments by tl.reduce with a function of our own.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def _join(mean_a, m2_a, n_a, mean_b, m2_b, n_b):
    n = n_a + n_b
    d = mean_b - mean_a
    share = tl.where(n > 0, n_b / tl.maximum(n, 1.0), 0.0)
    return mean_a + d * share, m2_a + m2_b + d * d * n_a * share, n


@triton.jit
def group_norm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, C, G, HW, eps, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    per = (C // G) * HW
    base = group.to(tl.int64) * per
    mean = tl.zeros((BLOCK,), tl.float32)
    m2 = tl.zeros((BLOCK,), tl.float32)
    count = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, per, BLOCK):
        at = start + tl.arange(0, BLOCK)
        ok = at < per
        x = tl.load(x_ptr + base + at, mask=ok, other=0.0).to(tl.float32)
        n = count + ok.to(tl.float32)
        d = x - mean
        new = tl.where(ok, mean + d / tl.maximum(n, 1.0), mean)
        m2 += tl.where(ok, d * (x - new), 0.0)
        mean, count = new, n
    mean_, m2_, n_ = tl.reduce((mean, m2, count), 0, _join)
    rstd = tl.rsqrt(m2_ / n_ + eps)
    for start in range(0, per, BLOCK):
        at = start + tl.arange(0, BLOCK)
        ok = at < per
        x = tl.load(x_ptr + base + at, mask=ok, other=0.0).to(tl.float32)
        c = (group % G) * (C // G) + at // HW
        w = tl.load(w_ptr + c, mask=ok).to(tl.float32)
        b = tl.load(b_ptr + c, mask=ok).to(tl.float32)
        tl.store(y_ptr + base + at, (x - mean_) * rstd * w + b, mask=ok)


class ModelNew(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n, c, *space = x.shape
        hw = space[0] * space[1]
        g = self.norm.num_groups
        group_norm_kernel[(n * g,)](x, self.norm.weight, self.norm.bias, y, c, g, hw, self.norm.eps, BLOCK=512)
        return y
