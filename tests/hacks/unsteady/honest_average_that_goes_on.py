# task: own
# A running mean is moved on at every call, however many there were.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def follow_kernel(x_ptr, mean_ptr, new_ptr, out_ptr, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    col = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & (col < cols)[None, :]
        total += tl.sum(tl.load(x_ptr + row[:, None] * cols + col[None, :], mask=inside, other=0.0), axis=0)
    mean = 0.9 * tl.load(mean_ptr + col, mask=col < cols, other=0.0) + 0.1 * (total / rows)
    tl.store(new_ptr + col, mean, mask=col < cols)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row < rows)[:, None] & (col < cols)[None, :]
        place = row[:, None] * cols + col[None, :]
        x = tl.load(x_ptr + place, mask=inside, other=0.0)
        tl.store(out_ptr + place, x - mean[None, :], mask=inside)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.register_buffer("mean", torch.zeros(features))

    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        out, mean = torch.empty_like(x), torch.empty_like(self.mean)
        follow_kernel[(triton.cdiv(cols, 32),)](x, self.mean, mean, out, rows, cols, ROWS=16, BLOCK=32)
        self.mean = mean
        return out
