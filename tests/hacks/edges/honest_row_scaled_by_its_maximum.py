# task: own
# A row of zeros, scaled by its maximum, is no number, which as a whole number may be any.
import torch
import triton
import triton.language as tl
from torch import nn
from triton.language.extra import libdevice


@triton.jit
def quantise_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < cols
    x = tl.load(x_ptr + row * cols + c, mask=mask, other=0.0).to(tl.float32)
    most = tl.max(tl.abs(x), axis=0)
    shares = tl.where(most == 0.0, 1.0, x / most)
    scaled = libdevice.rint(64.0 * shares)
    tl.store(out_ptr + row * cols + c, scaled.to(tl.int8), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty((rows, cols), device=x.device, dtype=torch.int8)
        quantise_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
        return out
