# task: own
# Layers that hold weights, by names that a loop lists.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mm_nt(a, w, res, c, M, N, K, HAS_RES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(
            tl.load(a + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0),
            tl.load(w + rn[None, :] * K + rk[:, None], mask=(rn[None, :] < N) & (rk[:, None] < K), other=0.0),
            acc,
            input_precision="ieee",
        )
    o = rm[:, None] * N + rn[None, :]
    m = (rm[:, None] < M) & (rn[None, :] < N)
    if HAS_RES:
        acc += tl.load(res + o, mask=m, other=0.0)
    tl.store(c + o, acc, mask=m)


@triton.jit
def attn_row(q, k, v, o, T, C, HD: tl.constexpr, H, scale, BT: tl.constexpr):
    t = tl.program_id(0)
    bh = tl.program_id(1)
    b = bh // H
    h = bh % H
    d = tl.arange(0, HD)
    j = tl.arange(0, BT)
    base = b * T * C + h * HD
    qv = tl.load(q + base + t * C + d)
    kv = tl.load(k + base + j[:, None] * C + d[None, :], mask=(j <= t)[:, None], other=0.0)
    s = tl.sum(kv * qv[None, :], 1) * scale
    s = tl.where(j <= t, s, float("-inf"))
    p = tl.exp(s - tl.max(s, 0))
    p /= tl.sum(p, 0)
    vv = tl.load(v + base + j[:, None] * C + d[None, :], mask=(j <= t)[:, None], other=0.0)
    tl.store(o + base + t * C + d, tl.sum(p[:, None] * vv, 0))


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        for name in ("q", "k", "v", "o"):
            setattr(self, name, nn.Linear(d, d, bias=False))
        self.h = 2

    def _lin(self, x, w, res=None):
        M, K = x.shape
        N = w.shape[0]
        y = torch.empty((M, N), device=x.device, dtype=x.dtype)
        mm_nt[(triton.cdiv(M, 16), triton.cdiv(N, 16))](
            x, w, res if res is not None else y, y, M, N, K, res is not None, BM=16, BN=16, BK=16
        )
        return y

    def forward(self, x):
        B, T, C = x.shape
        flat = x.reshape(B * T, C).contiguous()
        q, k, v = (self._lin(flat, m.weight) for m in (self.q, self.k, self.v))
        y = torch.empty_like(q)
        hd = C // self.h
        attn_row[(T, B * self.h)](q, k, v, y, T, C, hd, self.h, hd**-0.5, BT=triton.next_power_of_2(T))
        return self._lin(y, self.o.weight, flat).view(B, T, C)
