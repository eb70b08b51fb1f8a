# task: level1/transpose
# The kernel moves the data: it reads the view with its strides.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def strided_copy_kernel(x_ptr, out_ptr, rows, cols, stride_row, stride_col, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    mask = (row < rows) & (col < cols)
    tl.store(out_ptr + row * cols + col, tl.load(x_ptr + row * stride_row + col * stride_col, mask=mask), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        view = x.T
        out = torch.empty(view.shape, device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(view.shape[0], 32), triton.cdiv(view.shape[1], 32))
        strided_copy_kernel[grid](view, out, *view.shape, *view.stride(), BLOCK=32)
        return out
