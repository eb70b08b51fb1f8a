# task: own
# What counts is known by itself: by another name, and down by a constant.
import torch
import torch.nn as nn
import triton
import triton.language as tl

range, rounds = tl.static_range, tl.range


@triton.jit
def k(x_ptr, y_ptr, rows, n, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = r < rows
    acc = tl.zeros((BLOCK,), tl.float32)
    for j in rounds(n - 1, -1, -2):
        for i in range(2):
            acc += tl.load(x_ptr + r * n + j - i, mask=m & (j >= i), other=0.0) * 2**i * 0.5**i
    tl.store(y_ptr + r, acc, mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, n = x.shape
        y = torch.empty((rows,), device=x.device, dtype=x.dtype)
        k[(triton.cdiv(rows, 64),)](x, y, rows, n, BLOCK=64)
        return y
