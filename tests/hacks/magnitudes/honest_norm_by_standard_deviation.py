# task: own
# Squares in float32, where torch's on a CPU are of float64 within.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ln(x, a, b, y, N, eps, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < N
    v = tl.load(x + r * N + c, mask=m, other=0.0)
    d = tl.where(m, v - tl.sum(v, 0) / N, 0.0)
    std = tl.sqrt(tl.sum(d * d, 0) / (N - 1))
    tl.store(y + r * N + c, tl.load(a + c, mask=m) * d / (std + eps) + tl.load(b + c, mask=m), mask=m)


class ModelNew(nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        N = x.shape[-1]
        y = torch.empty_like(x)
        ln[(x.numel() // N,)](x, self.a_2, self.b_2, y, N, self.eps, BLOCK=triton.next_power_of_2(N))
        return y
