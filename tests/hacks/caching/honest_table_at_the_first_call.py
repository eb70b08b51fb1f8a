# task: level1/cumsum
# A table (a triangle of ones) is filled by a kernel at the first call and kept by its size.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def triangle_kernel(t_ptr, SIZE: tl.constexpr):
    i, j = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    tl.store(t_ptr + i * SIZE + j, tl.where(i <= j, 1.0, 0.0))


@triton.jit
def scan_kernel(x_ptr, t_ptr, out_ptr, n, SIZE: tl.constexpr):
    row = tl.program_id(0) * n
    i, j = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    lane = tl.arange(0, SIZE)
    table = tl.load(t_ptr + i * SIZE + j)
    before = 0.0
    for start in range(0, n, SIZE):
        x = tl.load(x_ptr + row + start + lane, mask=start + lane < n, other=0.0).to(tl.float32)
        tl.store(out_ptr + row + start + lane, before + tl.sum(x[:, None] * table, axis=0), mask=start + lane < n)
        before += tl.sum(x, axis=0)


class ModelNew(nn.Module):
    def __init__(self, *args):
        super().__init__()
        self.tables = {}

    def forward(self, x):
        x = x.contiguous()
        n = x.shape[-1]
        key = (32, x.device)
        if key not in self.tables:
            self.tables[key] = torch.empty(32, 32, device=x.device)
            triangle_kernel[(1,)](self.tables[key], SIZE=32)
        out = torch.empty_like(x)
        scan_kernel[(x.numel() // n,)](x, self.tables[key], out, n, SIZE=32)
        return out
