# task: own
# rule: mismatch
# The same, of a product.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lin_kernel(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        kk = k + rk
        a = tl.load(x_ptr + rm[:, None] * K + kk[None, :], mask=(rm[:, None] < M) & (kk[None, :] < K), other=0.0)
        b = tl.load(w_ptr + rn[None, :] * K + kk[:, None], mask=(kk[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    pass
    pass
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        x = A.contiguous()
        M, K = x.shape
        w = x
        b = x
        N = w.shape[0]
        y = torch.empty((M, N), device=x.device, dtype=x.dtype)
        lin_kernel[(triton.cdiv(M, 64), triton.cdiv(N, 64))](x, w, b, y, M, N, K, BM=64, BN=64, BK=32)
        return y
