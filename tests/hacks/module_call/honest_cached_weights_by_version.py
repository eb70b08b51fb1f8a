# task: level1/linear
# A transposed copy of the weight, made again when the weight has changed.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def linear_kernel(x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        rk = k0 + tl.arange(0, BK)
        x = tl.load(x_ptr + rm[:, None] * K + rk, mask=(rm[:, None] < M) & (rk < K), other=0.0)
        w = tl.load(w_ptr + rk[:, None] * N + rn, mask=(rk[:, None] < K) & (rn < N), other=0.0)
        acc = tl.dot(x, w, acc, input_precision="ieee")
    acc += tl.load(b_ptr + rn, mask=rn < N, other=0.0).to(tl.float32)[None, :]
    tl.store(y_ptr + rm[:, None] * N + rn, acc, mask=(rm[:, None] < M) & (rn < N))


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self._key, self._wt = None, None

    def _weight(self):
        w = self.linear.weight
        key = (w.data_ptr(), w._version, w.dtype, w.device)
        if key != self._key:
            self._key, self._wt = key, w.detach().t().contiguous()
        return self._wt

    def forward(self, x):
        shape = x.shape
        x = x.reshape(-1, shape[-1])
        wt = self._weight()
        M, K = x.shape
        N = wt.shape[1]
        y = torch.empty((M, N), device=x.device, dtype=x.dtype)
        linear_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, wt, self.linear.bias, y, M, N, K, 32, 32, 32)
        return y.view(*shape[:-1], N)
