# task: own
# rule: mismatch
# device: cpu
# A reshape that may reorder keeps no order.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, o_ptr, M, N, T: tl.constexpr):
    rm = tl.program_id(0) * T + tl.arange(0, T)
    rn = tl.program_id(1) * T + tl.arange(0, T)
    x = tl.load(x_ptr + rm[:, None] * N + rn[None, :], mask=(rm[:, None] < M) & (rn[None, :] < N), other=0.0)
    y = tl.reshape(tl.trans(x), (T * T,), can_reorder=True)
    i = tl.arange(0, T * T)
    a = tl.program_id(1) * T + i // T
    b = tl.program_id(0) * T + i % T
    tl.store(o_ptr + a * M + b, 2.0 * y, mask=(a < N) & (b < M))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        M, N = x.shape
        out = torch.empty((N, M), device=x.device, dtype=x.dtype)
        k[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, out, M, N, T=32)
        return out
