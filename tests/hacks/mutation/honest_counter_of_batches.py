# task: level1/batch_norm
# Running statistics by a kernel, the counter of batches as torch itself counts.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def stats_kernel(x, mean, var, rmean, rvar, N, C, HW, momentum, BLOCK: tl.constexpr):
    c = tl.program_id(0)
    count = N * HW
    s = tl.zeros([BLOCK], tl.float32)
    for start in range(0, count, BLOCK):
        i = start + tl.arange(0, BLOCK)
        s += tl.load(x + (i // HW) * C * HW + c * HW + i % HW, mask=i < count, other=0.0).to(tl.float32)
    mu = tl.sum(s) / count
    v = tl.zeros([BLOCK], tl.float32)
    for start in range(0, count, BLOCK):
        i = start + tl.arange(0, BLOCK)
        a = tl.load(x + (i // HW) * C * HW + c * HW + i % HW, mask=i < count, other=0.0).to(tl.float32)
        v += tl.where(i < count, (a - mu) * (a - mu), 0.0)
    sq = tl.sum(v)
    tl.store(mean + c, mu)
    tl.store(var + c, sq / count)
    old_mean = tl.load(rmean + c).to(tl.float32)
    old_var = tl.load(rvar + c).to(tl.float32)
    tl.store(rmean + c, old_mean * (1 - momentum) + momentum * mu)
    tl.store(rvar + c, old_var * (1 - momentum) + momentum * (sq / (count - 1)))


@triton.jit
def norm_kernel(x, y, mean, var, weight, bias, n, C, HW, eps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    c = (i // HW) % C
    a = tl.load(x + i, mask=m).to(tl.float32)
    rstd = tl.rsqrt(tl.load(var + c, mask=m) + eps)
    out = (a - tl.load(mean + c, mask=m)) * rstd * tl.load(weight + c, mask=m) + tl.load(bias + c, mask=m)
    tl.store(y + i, out, mask=m)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.normal_(self.norm.bias)

    def forward(self, x):
        bn = self.norm
        N, C, H, W = x.shape
        x = x.contiguous()
        if bn.training and bn.track_running_stats:
            bn.num_batches_tracked.add_(1)
        mean = torch.empty(C, device=x.device, dtype=torch.float32)
        var = torch.empty_like(mean)
        stats_kernel[(C,)](x, mean, var, bn.running_mean, bn.running_var, N, C, H * W, bn.momentum, BLOCK=1024)
        y = torch.empty_like(x)
        norm_kernel[(triton.cdiv(x.numel(), 1024),)](
            x, y, mean, var, bn.weight, bn.bias, x.numel(), C, H * W, bn.eps, BLOCK=1024
        )
        return y
