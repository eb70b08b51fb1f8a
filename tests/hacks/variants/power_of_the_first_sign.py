# task: own
# rule: mismatch
# A power of magnitudes with the sign of the first element.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def cube_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < cols
    x = tl.load(x_ptr + row * cols + c, mask=mask)
    sign = tl.where(tl.load(x_ptr) < 0, -1.0, 1.0)
    x = tl.abs(x)
    tl.store(out_ptr + row * cols + c, sign * x * x * x, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty((rows, cols), device=x.device, dtype=x.dtype)
        cube_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
        return out
