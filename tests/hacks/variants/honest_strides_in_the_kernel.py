# task: level1/relu
# The kernel is told the strides.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, cols, stride_row, stride_col, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    at = (offsets // cols).to(tl.int64) * stride_row + (offsets % cols) * stride_col
    x = tl.load(x_ptr + at, mask=mask)
    tl.store(out_ptr + offsets, tl.where(x < 0, 0.0, x), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape, device=x.device, dtype=x.dtype)
        rows, cols = x.shape
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), cols, x.stride(0), x.stride(1), BLOCK=1024)
        return out
