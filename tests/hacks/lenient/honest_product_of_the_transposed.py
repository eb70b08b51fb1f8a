# task: own
# policy: lenient
# Torch multiplies, and the kernel does the rest of the task, which is to transpose.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def transpose_kernel(x, o, M, N, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    m = (i < M)[:, None] & (j < N)[None, :]
    tl.store(o + j[None, :] * M + i[:, None], tl.load(x + i[:, None] * N + j[None, :], mask=m), mask=m)


class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.mm(a, b)
        M, N = c.shape
        out = torch.empty(N, M, device=a.device, dtype=a.dtype)
        transpose_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](c, out, M, N, 32)
        return out
