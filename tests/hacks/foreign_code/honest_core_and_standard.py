# task: level1/sum_dim
# FlagGems takes parts of its kernels from triton.language.core and .standard.
import torch
import triton
import triton.language as tl
import triton.language.core as core
from torch import nn
from triton.language.standard import _sum_combine


@triton.jit
def sum_kernel(x_ptr, y_ptr, N, K, BLOCK: tl.constexpr):
    m, k = tl.program_id(0), tl.program_id(1)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        n = start + core.arange(0, BLOCK)
        acc += tl.load(x_ptr + (m * N + n) * K + k, mask=n < N, other=0.0).to(tl.float32)
    tl.store(y_ptr + m * K + k, core.reduce(acc, 0, _sum_combine))


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        x = x.movedim(self.dim, 1).contiguous() if x.dim() > 1 else x
        M, N = x.shape[:2]
        K = x[0, 0].numel()
        y = torch.empty((M, *x.shape[2:]), device=x.device, dtype=x.dtype)
        sum_kernel[(M, K)](x, y, N, K, BLOCK=64)
        return y
