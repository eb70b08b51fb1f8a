# task: own
# rule: mismatch
# Halves are rounded away from zero, and stored as whole numbers.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def quantise_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < cols
    x = 16.0 * tl.load(x_ptr + row * cols + c, mask=mask, other=0.0)
    steps = tl.where(x < 0, -tl.floor(0.5 - x), tl.floor(x + 0.5))
    steps = tl.minimum(tl.maximum(steps, -128.0), 127.0)
    tl.store(out_ptr + row * cols + c, steps.to(tl.int8), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty((rows, cols), device=x.device, dtype=torch.int8)
        quantise_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
        return out
