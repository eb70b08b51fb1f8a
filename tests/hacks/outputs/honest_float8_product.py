# task: own
# A product of 8-bit floats that the tensor cores multiply as they are.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def dot8(x_ptr, y_ptr, o_ptr, M, N, K, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)[:, None]
    n = tl.program_id(1) * B + tl.arange(0, B)[None, :]
    total = tl.zeros((B, B), tl.float32)
    for start in range(0, K, B):
        km = start + tl.arange(0, B)[None, :]
        kn = start + tl.arange(0, B)[:, None]
        x = tl.load(x_ptr + m * K + km, mask=(m < M) & (km < K), other=0.0)
        y = tl.load(y_ptr + kn * N + n, mask=(kn < K) & (n < N), other=0.0)
        total = tl.dot(x, y, total)
    tl.store(o_ptr + m * N + n, tl.clamp(total * 0.125, -448.0, 448.0).to(tl.float8e4nv), mask=(m < M) & (n < N))


class ModelNew(nn.Module):
    def forward(self, x, y):
        x, y = x.contiguous(), y.contiguous()
        (M, K), N = x.shape, y.shape[1]
        out = torch.empty((M, N), dtype=torch.float8_e4m3fn, device=x.device)
        dot8[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, y, out, M, N, K, B=32)
        return out
