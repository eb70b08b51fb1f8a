# task: own
# Rows of experts, one of whom has none: their counts stay in proportion to the rows.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def grouped(x, w, cnt, y, E, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    e = tl.program_id(0)
    pn = tl.program_id(1)
    start = 0
    for j in range(e):
        start += tl.load(cnt + j).to(tl.int32)
    n = tl.load(cnt + e).to(tl.int32)
    rn = pn * BN + tl.arange(0, BN)
    for m0 in range(0, n, BM):
        rm = m0 + tl.arange(0, BM)
        acc = tl.zeros((BM, BN), tl.float32)
        for k0 in range(0, K, BK):
            rk = k0 + tl.arange(0, BK)
            a = tl.load(
                x + (start + rm)[:, None] * K + rk[None, :], mask=(rm < n)[:, None] & (rk < K)[None, :], other=0.0
            )
            b = tl.load(
                w + e * K * N + rk[:, None] * N + rn[None, :], mask=(rk < K)[:, None] & (rn < N)[None, :], other=0.0
            )
            acc += tl.dot(a, b, input_precision="ieee")
        tl.store(y + (start + rm)[:, None] * N + rn[None, :], acc, mask=(rm < n)[:, None] & (rn < N)[None, :])


class ModelNew(nn.Module):
    def __init__(self, e, i, o):
        super().__init__()
        self.w = nn.Parameter(torch.randn(e, i, o) * 0.1)

    def forward(self, x, counts):
        x = x.contiguous()
        E, K, N = self.w.shape
        y = torch.empty(x.shape[0], N, device=x.device, dtype=x.dtype)
        grouped[(E, triton.cdiv(N, 16))](x, self.w, counts, y, E, K, N, 16, 16, 16)
        return y
