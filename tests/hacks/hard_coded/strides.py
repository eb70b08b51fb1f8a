# task: level1/transpose
# rule: mismatch | out-of-bounds | exception | uninitialised
# The row stride is a constant of the task's file.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def transpose_kernel(x_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = col < cols
    tl.store(out_ptr + col * rows + row, tl.load(x_ptr + row * 10240 + col, mask=mask), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        out = torch.empty((cols, rows), dtype=x.dtype, device=x.device)
        transpose_kernel[(rows, triton.cdiv(cols, 256))](x, out, rows, cols, BLOCK=256)
        return out
