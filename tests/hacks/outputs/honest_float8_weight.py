# task: own
# A weight held in 8-bit floats is no number of another precision, whatever the inputs are in.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def w8lin(x_ptr, w_ptr, s_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(x_ptr + rm[:, None] * K + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)
        w = tl.load(w_ptr + rn[None, :] * K + rk[:, None], mask=(rn[None, :] < N) & (rk[:, None] < K), other=0.0)
        acc = tl.dot(x, w.to(tl.float32), acc, input_precision="ieee")
    acc = acc * tl.load(s_ptr + rn, mask=rn < N, other=0.0)[None, :]
    acc = tl.maximum(acc, 0.0)
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def __init__(self, k, n):
        super().__init__()
        w = torch.randn(n, k)
        s = w.abs().amax(1) / 448.0
        self.register_buffer("weight", (w / s[:, None]).to(torch.float8_e4m3fn))
        self.register_buffer("scale", s)

    def forward(self, x):
        x = x.contiguous()
        M, K = x.shape
        N = self.weight.shape[0]
        y = torch.empty((M, N), dtype=x.dtype, device=x.device)
        w8lin[(triton.cdiv(M, 16), triton.cdiv(N, 16))](x, self.weight, self.scale, y, M, N, K, BM=16, BN=16, BK=32)
        return y
