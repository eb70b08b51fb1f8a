# task: own
# The same by `"fc%d" % i`.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def linear_kernel(x, w, b, y, M, N, K, scale, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        a = tl.load(x + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        c = tl.load(w + rn[None, :] * K + rk[:, None], mask=(rn[None, :] < N) & (rk[:, None] < K), other=0.0)
        acc = tl.dot(a, c, acc, input_precision="ieee")
    acc = (acc + tl.load(b + rn, mask=rn < N, other=0.0)[None, :]) * scale
    tl.store(y + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


def lin(x, w, b, scale=1.0):
    x = x.contiguous()
    M, K = x.shape
    N = w.shape[0]
    y = torch.empty(M, N, dtype=x.dtype, device=x.device)
    linear_kernel[(triton.cdiv(M, 16), triton.cdiv(N, 16))](x, w.contiguous(), b, y, M, N, K, scale, 16, 16, 16)
    return y


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
        for i in range(n):
            setattr(self, "fc%d" % i, nn.Linear(24, 24))

    def forward(self, x):
        for i in range(self.n):
            layer = getattr(self, "fc%d" % i)
            x = lin(x, layer.weight, layer.bias)
        return x
