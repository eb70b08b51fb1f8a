# task: own
# The cache grows by torch's cat; the product is the kernel's.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def mm(q, k, o, M, N, D, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    b = tl.program_id(2)
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for d0 in range(0, D, BD):
        d = d0 + tl.arange(0, BD)
        x = tl.load(q + b * M * D + rm[:, None] * D + d[None, :], (rm[:, None] < M) & (d[None, :] < D), other=0.0)
        y = tl.load(k + b * N * D + rn[None, :] * D + d[:, None], (rn[None, :] < N) & (d[:, None] < D), other=0.0)
        acc += tl.dot(x, y, input_precision="ieee")
    tl.store(o + b * M * N + rm[:, None] * N + rn[None, :], acc, (rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, q, k, cache):
        keys = torch.cat([cache, k], dim=1)
        B, M, D = q.shape
        N = keys.shape[1]
        o = torch.empty(B, M, N, dtype=q.dtype, device=q.device)
        mm[(triton.cdiv(M, 32), triton.cdiv(N, 32), B)](q.contiguous(), keys, o, M, N, D, BM=32, BN=32, BD=32)
        return o, keys
