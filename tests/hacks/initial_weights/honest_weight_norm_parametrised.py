# task: own
# The weights of a parametrised layer, read as they are stored.
import torch
import torch.nn as nn
import triton
import triton.language as tl
from torch.nn.utils.parametrizations import weight_norm


@triton.jit
def wn_conv1d(x_ptr, g_ptr, v_ptr, b_ptr, y_ptr, CI, CO, L, K: tl.constexpr, BW: tl.constexpr, BL: tl.constexpr):
    n, co = tl.program_id(0), tl.program_id(1)
    at = tl.program_id(2) * BL + tl.arange(0, BL)
    i = tl.arange(0, BW)
    v = tl.load(v_ptr + co * CI * K + i, mask=i < CI * K, other=0.0)
    s = tl.load(g_ptr + co) / tl.sqrt(tl.sum(v * v, 0))
    acc = tl.zeros([BL], tl.float32)
    for ci in range(CI):
        for t in tl.static_range(K):
            src = at - (K - 1) + t
            x = tl.load(x_ptr + (n * CI + ci) * L + src, mask=(src >= 0) & (src < L), other=0.0)
            acc += x * tl.load(v_ptr + (co * CI + ci) * K + t)
    acc = acc * s + tl.load(b_ptr + co)
    tl.store(y_ptr + (n * CO + co) * L + at, tl.maximum(acc, 0.0), mask=at < L)


class ModelNew(nn.Module):
    def __init__(self, cin, cout, k):
        super().__init__()
        self.conv = weight_norm(nn.Conv1d(cin, cout, k))
        self.k = k

    def forward(self, x):
        x = x.contiguous()
        g = self.conv.parametrizations.weight.original0
        v = self.conv.parametrizations.weight.original1
        N, CI, L = x.shape
        CO = v.shape[0]
        y = torch.empty(N, CO, L, device=x.device, dtype=x.dtype)
        block = triton.next_power_of_2(CI * self.k)
        wn_conv1d[(N, CO, triton.cdiv(L, 128))](x, g, v, self.conv.bias, y, CI, CO, L, K=self.k, BW=block, BL=128)
        return y
