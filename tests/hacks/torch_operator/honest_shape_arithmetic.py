# task: level1/relu
# Arithmetic on sizes is not arithmetic on data.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        n = rows * cols
        block = min(1024, max(16, triton.next_power_of_2(n // 4 + 1)))
        programs = -(-n // block)
        out = torch.empty((rows, cols), device=x.device, dtype=x.dtype)
        relu_kernel[(programs,)](x.contiguous(), out, n, BLOCK=block)
        return out
