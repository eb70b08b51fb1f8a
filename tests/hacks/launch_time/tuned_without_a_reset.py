# task: own
# rule: mismatch
# device: cpu
# The first launch adds to what measuring left there.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.autotune(
    configs=[triton.Config({"BM": 16}), triton.Config({"BM": 32}), triton.Config({"BM": 64})], key=["M", "N"]
)
@triton.jit
def k(x_ptr, o_ptr, M, N, BM: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.arange(0, B)
    x = tl.load(x_ptr + r[:, None] * N + c[None, :], mask=(r[:, None] < M) & (c[None, :] < N), other=0.0).to(tl.float32)
    tl.atomic_add(o_ptr + c, tl.sum(x, axis=0), mask=c < N)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        M, N = x.shape
        out = torch.zeros((N,), device=x.device, dtype=torch.float32)
        k[lambda m: (triton.cdiv(M, m["BM"]),)](x, out, M, N, B=triton.next_power_of_2(N))
        return out.to(x.dtype)
