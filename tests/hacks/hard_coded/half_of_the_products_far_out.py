# task: own
# rule: mismatch
# device: cpu
# Half of the inner dimension in tiles far from the first one, of which smaller sizes have none.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(a_ptr, b_ptr, o_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    e = tl.where(tl.program_id(0) * tl.program_id(1) < 200, K, K // 2)
    for kk in range(0, e, BK):
        rk = kk + tl.arange(0, BK)
        a = tl.load(a_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        b = tl.load(b_ptr + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(o_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        a = a.contiguous()
        b = b.contiguous()
        M, K = a.shape
        N = b.shape[1]
        o = torch.empty((M, N), device=a.device, dtype=a.dtype)
        kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, o, M, N, K, BM=32, BN=32, BK=32)
        return o
