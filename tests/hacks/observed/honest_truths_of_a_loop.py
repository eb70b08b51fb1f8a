# task: own
# Truths of loop variables are multiplied, chosen by, inverted and joined.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, rows, n, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = r < rows
    acc = tl.zeros((BLOCK,), tl.float32)
    for j in range(n):
        first, second = j < 1, j == 1
        weight = tl.where(~first, 1.0, -2.0) + second * 1.0
        if not (j == n) and (first or second or j > 1):
            acc += weight * tl.load(x_ptr + r * n + j, mask=not (r >= rows), other=0.0)
    tl.store(y_ptr + r, acc, mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, n = x.shape
        y = torch.empty((rows,), device=x.device, dtype=x.dtype)
        k[(triton.cdiv(rows, 64),)](x, y, rows, n, BLOCK=64)
        return y
