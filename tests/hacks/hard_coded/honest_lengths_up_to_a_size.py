# task: own
# Lengths of sequences, of which the longest fills the cache.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def decode_stage1(
    q_ptr,
    k_ptr,
    v_ptr,
    lens_ptr,
    slopes_ptr,
    mid_o,
    mid_lse,
    T,
    H,
    D,
    scale,
    SPLITS: tl.constexpr,
    BT: tl.constexpr,
    BD: tl.constexpr,
):
    b = tl.program_id(0)
    h = tl.program_id(1)
    s = tl.program_id(2)
    n = tl.load(lens_ptr + b)
    per = tl.cdiv(n, SPLITS)
    lo = per * s
    hi = tl.minimum(lo + per, n)
    d = tl.arange(0, BD)
    q = tl.load(q_ptr + (b * H + h) * D + d, mask=d < D, other=0.0)
    slope = tl.load(slopes_ptr + h)
    e_max = -float("inf")
    e_sum = 0.0
    acc = tl.zeros([BD], tl.float32)
    if hi > lo:
        for t0 in range(lo, hi, BT):
            t = t0 + tl.arange(0, BT)
            kv = ((b * T + t[:, None]) * H + h) * D + d[None, :]
            m = (t < hi)[:, None] & (d < D)[None, :]
            k = tl.load(k_ptr + kv, mask=m, other=0.0)
            qk = tl.sum(q[None, :] * k, 1) * scale
            qk += slope * (t - (n - 1)).to(tl.float32)
            qk = tl.where(t < hi, qk, float("-inf"))
            new_max = tl.maximum(tl.max(qk, 0), e_max)
            re = tl.exp(e_max - new_max)
            p = tl.exp(qk - new_max)
            v = tl.load(v_ptr + kv, mask=m, other=0.0)
            acc = acc * re + tl.sum(p[:, None] * v, 0)
            e_sum = e_sum * re + tl.sum(p, 0)
            e_max = new_max
        o = (b * H + h) * SPLITS + s
        tl.store(mid_o + o * D + d, acc / e_sum, mask=d < D)
        tl.store(mid_lse + o, e_max + tl.log(e_sum))


@triton.jit
def decode_stage2(mid_o, mid_lse, lens_ptr, out_ptr, H, D, SPLITS: tl.constexpr, BD: tl.constexpr):
    b = tl.program_id(0)
    h = tl.program_id(1)
    n = tl.load(lens_ptr + b)
    per = tl.cdiv(n, SPLITS)
    d = tl.arange(0, BD)
    e_sum = 0.0
    e_max = -float("inf")
    acc = tl.zeros([BD], tl.float32)
    for s in range(0, SPLITS):
        lo = per * s
        hi = tl.minimum(lo + per, n)
        if hi > lo:
            o = (b * H + h) * SPLITS + s
            tv = tl.load(mid_o + o * D + d, mask=d < D, other=0.0)
            tlogic = tl.load(mid_lse + o)
            n_e_max = tl.maximum(tlogic, e_max)
            old_scale = tl.exp(e_max - n_e_max)
            acc *= old_scale
            w = tl.exp(tlogic - n_e_max)
            acc += w * tv
            e_sum = e_sum * old_scale + w
            e_max = n_e_max
    tl.store(out_ptr + (b * H + h) * D + d, acc / e_sum, mask=d < D)


class ModelNew(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.register_buffer("slopes", torch.tensor([2.0 ** (-8.0 * (i + 1) / heads) for i in range(heads)]))

    def forward(self, q, k, v, lens):
        B, H, D = q.shape
        T = k.shape[1]
        SPLITS = 4
        # partial results; splits beyond a sequence's end are neither written nor read
        mid_o = torch.empty((B, H, SPLITS, D), dtype=torch.float32, device=q.device)
        mid_lse = torch.empty((B, H, SPLITS), dtype=torch.float32, device=q.device)
        out = torch.empty_like(q)
        BD = triton.next_power_of_2(D)
        decode_stage1[(B, H, SPLITS)](
            q, k, v, lens, self.slopes, mid_o, mid_lse, T, H, D, D**-0.5, SPLITS=SPLITS, BT=16, BD=BD
        )
        decode_stage2[(B, H)](mid_o, mid_lse, lens, out, H, D, SPLITS=SPLITS, BD=BD)
        return out
