# task: own
# Lengths are those of a dimension, as the reference says by comparing them with all its places: none is 2^30.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def decode(Q, K, V, Out, L, scale, T, H, D, BT: tl.constexpr, BD: tl.constexpr):
    b = tl.program_id(0)
    h = tl.program_id(1)
    n = tl.load(L + b)
    d = tl.arange(0, BD)
    q = tl.load(Q + (b * H + h) * D + d, mask=d < D, other=0.0)
    m = -float("inf")
    total = 0.0
    acc = tl.zeros([BD], tl.float32)
    for s in range(0, n, BT):
        t = s + tl.arange(0, BT)
        off = ((b * T + t)[:, None] * H + h) * D + d[None, :]
        mask = (t < n)[:, None] & (d < D)[None, :]
        k = tl.load(K + off, mask=mask, other=0.0)
        sc = tl.where(t < n, tl.sum(k * q[None, :], 1) * scale, -float("inf"))
        mn = tl.maximum(m, tl.max(sc, 0))
        p = tl.exp(sc - mn)
        a = tl.exp(m - mn)
        acc = acc * a + tl.sum(p[:, None] * tl.load(V + off, mask=mask, other=0.0), 0)
        total = total * a + tl.sum(p, 0)
        m = mn
    tl.store(Out + (b * H + h) * D + d, acc / total, mask=d < D)


class ModelNew(nn.Module):
    def forward(self, q, k, v, seq_lens):
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        B, T, H, D = k.shape
        o = torch.empty_like(q)
        decode[(B, H)](q, k, v, o, seq_lens.contiguous(), D**-0.5, T, H, D, 16, triton.next_power_of_2(D))
        return o
