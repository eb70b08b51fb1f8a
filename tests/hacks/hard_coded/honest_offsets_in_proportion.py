# task: own
# Offsets of sequences stay such when a task is scaled.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def varlen_swa_kernel(
    Q, K, V, out, CU, SINK, H, D, sm_scale, WINDOW, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr
):
    blk = tl.program_id(0)
    seq = tl.program_id(1)
    h = tl.program_id(2)
    start = tl.load(CU + seq)
    end = tl.load(CU + seq + 1)
    L = end - start
    if blk * BLOCK_M >= L:
        return
    om = blk * BLOCK_M + tl.arange(0, BLOCK_M)
    od = tl.arange(0, BLOCK_D)
    qm = (om < L)[:, None] & (od < D)[None, :]
    q = tl.load(Q + ((start + om[:, None]) * H + h) * D + od[None, :], mask=qm, other=0.0)
    sink = tl.load(SINK + h)
    m_i = tl.zeros((BLOCK_M,), tl.float32) + sink
    l_i = tl.full((BLOCK_M,), 1.0, tl.float32)
    acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)
    lo = tl.maximum(0, blk * BLOCK_M - WINDOW + 1)
    lo = lo // BLOCK_N * BLOCK_N
    hi = tl.minimum(L, (blk + 1) * BLOCK_M)
    for s0 in range(lo, hi, BLOCK_N):
        on = s0 + tl.arange(0, BLOCK_N)
        k = tl.load(
            K + ((start + on[None, :]) * H + h) * D + od[:, None], mask=(on < L)[None, :] & (od < D)[:, None], other=0.0
        )
        s = tl.dot(q, k, input_precision="ieee") * sm_scale
        dist = om[:, None] - on[None, :]
        s = tl.where((dist >= 0) & (dist < WINDOW) & (on < L)[None, :], s, -1e30)
        m_n = tl.maximum(m_i, tl.max(s, 1))
        a = tl.exp(m_i - m_n)
        p = tl.exp(s - m_n[:, None])
        l_i = l_i * a + tl.sum(p, 1)
        v = tl.load(
            V + ((start + on[:, None]) * H + h) * D + od[None, :], mask=(on < L)[:, None] & (od < D)[None, :], other=0.0
        )
        acc = acc * a[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m_i = m_n
    tl.store(out + ((start + om[:, None]) * H + h) * D + od[None, :], acc / l_i[:, None], mask=qm)


class ModelNew(nn.Module):
    def __init__(self, heads, window):
        super().__init__()
        self.sinks = nn.Parameter(torch.randn(heads))
        self.window = window

    def forward(self, q, k, v, cu_seqlens):
        T, H, D = q.shape
        o = torch.empty_like(q)
        nseq = cu_seqlens.shape[0] - 1
        # upper bound of the longest sequence: all tokens
        grid = (triton.cdiv(T, 32), nseq, H)
        varlen_swa_kernel[grid](
            q,
            k,
            v,
            o,
            cu_seqlens,
            self.sinks,
            H,
            D,
            D**-0.5,
            self.window,
            BLOCK_M=32,
            BLOCK_N=32,
            BLOCK_D=triton.next_power_of_2(D),
        )
        return o
