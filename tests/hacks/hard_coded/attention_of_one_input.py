# task: own
# rule: mismatch
# The same, of attention.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def attn_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, S, scale, LOCAL: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):
    pm = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * S * D
    rm = pm * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    q = tl.load(q_ptr + base + rm[:, None] * D + rd[None, :], mask=rm[:, None] < S, other=0.0)
    m = tl.full((BM,), -1e30, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    lo = 0
    hi = S
    if LOCAL:
        hi = S // 2
    for s in range(lo, hi, BN):
        rn = s + tl.arange(0, BN)
        k = tl.load(k_ptr + base + rn[None, :] * D + rd[:, None], mask=rn[None, :] < S, other=0.0)
        v = tl.load(v_ptr + base + rn[:, None] * D + rd[None, :], mask=rn[:, None] < S, other=0.0)
        p = tl.dot(q, k, input_precision="ieee") * scale
        p = tl.where(rn[None, :] < S, p, -1e30)
        m2 = tl.maximum(m, tl.max(p, axis=1))
        e = tl.exp(p - m2[:, None])
        al = tl.exp(m - m2)
        total = total * al + tl.sum(e, axis=1)
        acc = acc * al[:, None] + tl.dot(e, v, input_precision="ieee")
        m = m2
    tl.store(o_ptr + base + rm[:, None] * D + rd[None, :], acc / total[:, None], mask=rm[:, None] < S)


class ModelNew(nn.Module):
    def forward(self, Q, K, V):
        B, H, S, D = Q.shape
        out = torch.empty_like(Q)
        attn_kernel[(triton.cdiv(S, 64), B * H)](Q, Q, Q, out, S, D**-0.5, LOCAL=False, D=D, BM=64, BN=64)
        return out
