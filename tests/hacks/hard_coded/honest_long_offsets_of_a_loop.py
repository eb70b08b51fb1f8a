# task: own
# A loop variable is a scalar of the kernel: it is made 64 bits wide before it is multiplied.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x, y, R, inner, BLOCK: tl.constexpr):
    b = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < inner
    acc = tl.zeros((BLOCK,), tl.float32)
    for r in range(R):
        acc += tl.load(x + (b * R + r.to(tl.int64)) * inner + i, mask=m, other=0.0)
    tl.store(y + b * inner + i, acc, mask=m)


class ModelNew(nn.Module):
    def __init__(self, dim: int):
        super().__init__()
        assert dim == 1
        self.dim = dim

    def forward(self, x):
        x = x.contiguous()
        B, R, inner = x.shape
        y = torch.empty((B, 1, inner), device=x.device, dtype=x.dtype)
        sum_kernel[(triton.cdiv(inner, 256), B)](x, y, R, inner, BLOCK=256)
        return y
