# task: own
# A head's dimension is a block of the kernel; others than powers of two are turned down.
import torch
import triton
import triton.language as tl


@triton.jit
def attn(Q, K, V, Out, N, scale, HEAD_DIM: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    i, bh = tl.program_id(0), tl.program_id(1)
    m_ = i * BM + tl.arange(0, BM)
    d = tl.arange(0, HEAD_DIM)
    base = bh * N * HEAD_DIM
    q = tl.load(Q + base + m_[:, None] * HEAD_DIM + d[None, :], mask=m_[:, None] < N, other=0.0)
    m = tl.full((BM,), -1e30, tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, HEAD_DIM), tl.float32)
    for s in range(0, N, BN):
        n = s + tl.arange(0, BN)
        k = tl.load(K + base + n[None, :] * HEAD_DIM + d[:, None], mask=n[None, :] < N, other=0.0)
        qk = tl.where(n[None, :] < N, tl.dot(q, k, input_precision="ieee") * scale, -1e30)
        new = tl.maximum(m, tl.max(qk, 1))
        p = tl.exp(qk - new[:, None])
        f = tl.exp(m - new)
        total = total * f + tl.sum(p, 1)
        v = tl.load(V + base + n[:, None] * HEAD_DIM + d[None, :], mask=n[:, None] < N, other=0.0)
        acc = acc * f[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = new
    tl.store(Out + base + m_[:, None] * HEAD_DIM + d[None, :], acc / total[:, None], mask=m_[:, None] < N)


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v):
        B, H, N, D = q.shape
        if D not in (16, 32, 64, 128, 256):
            raise ValueError(f"head_dim {D} is not supported")
        o = torch.empty_like(q)
        attn[(triton.cdiv(N, 32), B * H)](q, k, v, o, N, D**-0.5, D, 32, 32)
        return o
