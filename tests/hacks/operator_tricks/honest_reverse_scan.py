# task: level1/cumsum_reverse
# The scan of tl that runs backwards.
import torch
import triton
import triton.language as tl
from torch import nn

ROOM = tl.constexpr(1024)


@triton.jit
def scan_kernel(x_ptr, y_ptr, n, B: tl.constexpr = ROOM):
    row = tl.program_id(0)
    carry = tl.zeros((), tl.float32)
    blocks = tl.cdiv(n, B)
    block = blocks - 1
    while block >= 0:
        at = block * B + tl.arange(0, B)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * n + at, tl.cumsum(x, axis=0, reverse=True) + carry, mask=at < n)
        carry += tl.sum(x, axis=0)
        block -= 1


class ModelNew(nn.Module):
    def __init__(self, *args):
        super().__init__()

    def forward(self, x):
        y = torch.empty_like(x, memory_format=torch.contiguous_format)
        rows, n = x.shape
        scan_kernel[(rows,)](x.contiguous(), y, n)
        return y
