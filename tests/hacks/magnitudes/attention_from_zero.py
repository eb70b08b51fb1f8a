# task: own
# rule: mismatch
# The running maximum begins at zero; scores that are all far below it have no sum.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kern(q_ptr, k_ptr, v_ptr, o_ptr, S, scale, D: tl.constexpr, BS: tl.constexpr):
    r = tl.program_id(0)
    h = tl.program_id(1)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + (h * S + r) * D + d)
    acc = tl.zeros((D,), tl.float32)
    mx = 0.0
    s = 0.0
    for j in range(0, S, BS):
        c = j + tl.arange(0, BS)
        kk = tl.load(k_ptr + (h * S + c)[:, None] * D + d[None, :], mask=(c < S)[:, None], other=0.0)
        sc = tl.sum(kk * q[None, :], 1) * scale
        sc = tl.where(c < S, sc, -float("inf"))
        new = tl.maximum(mx, tl.max(sc, 0))
        p = tl.exp(sc - new)
        al = tl.exp(mx - new)
        vv = tl.load(v_ptr + (h * S + c)[:, None] * D + d[None, :], mask=(c < S)[:, None], other=0.0)
        acc = acc * al + tl.sum(p[:, None] * vv, 0)
        s = s * al + tl.sum(p, 0)
        mx = new
    tl.store(o_ptr + (h * S + r) * D + d, acc / s)


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        B, H, S, D = q.shape
        o = torch.empty_like(q)
        kern[(S, B * H)](q, k, v, o, S, D**-0.5, D=D, BS=16)
        return o
