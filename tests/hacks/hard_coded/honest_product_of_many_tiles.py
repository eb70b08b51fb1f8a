# task: own
# The sides are one constant, and a loop goes round once at all small sizes: it says itself that it takes whole tiles.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def mm_kernel(a_ptr, b_ptr, o_ptr, N, BM: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BM + tl.arange(0, BM)
    acc = tl.zeros((BM, BM), dtype=tl.float32)
    k = 0
    while k < N:
        rk = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rm[:, None] * N + rk[None, :], mask=(rm[:, None] < N) & (rk[None, :] < N), other=0.0)
        b = tl.load(b_ptr + rk[:, None] * N + rn[None, :], mask=(rk[:, None] < N) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
        k += BK
    tl.store(o_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < N) & (rn[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        N = a.shape[0]
        assert N <= 128 or N % 256 == 0
        out = torch.empty_like(a)
        grid = (triton.cdiv(N, 32), triton.cdiv(N, 32))
        mm_kernel[grid](a.contiguous(), b.contiguous(), out, N, BM=32, BK=256)
        return out
