# task: own
# rule: race
# device: cpu
# Atomic for the threads of one block only, and added to by all of them.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, o_ptr, M, N, BM: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.arange(0, B)
    x = tl.load(x_ptr + r[:, None] * N + c[None, :], mask=(r[:, None] < M) & (c[None, :] < N), other=0.0).to(tl.float32)
    tl.atomic_add(o_ptr + c, tl.sum(x, axis=0), mask=c < N, sem="relaxed", scope="cta")


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        M, N = x.shape
        out = torch.zeros((N,), device=x.device, dtype=torch.float32)
        k[(triton.cdiv(M, 16),)](x, out, M, N, BM=16, B=triton.next_power_of_2(N))
        return out.to(x.dtype)
