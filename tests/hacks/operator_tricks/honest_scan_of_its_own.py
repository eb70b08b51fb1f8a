# task: own
# A scan with a combining function of its own.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _mul(a, b):
    return a * b


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    carry = tl.full((1,), 1.0, tl.float32)
    for s in range(0, n, BLOCK):
        o = s + tl.arange(0, BLOCK)
        v = tl.load(x + row * n + o, mask=o < n, other=1.0)
        c = tl.associative_scan(v, 0, _mul) * carry
        tl.store(y + row * n + o, c, mask=o < n)
        carry = tl.sum(tl.where(tl.arange(0, BLOCK) == BLOCK - 1, c, 0.0), 0, keep_dims=True)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=1024)
        return y
