# task: own
# All lanes store the same value to one place.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + c, mask=c < cols, other=0.0).to(tl.float32)
    total = tl.sum(x, axis=0)
    tl.store(out_ptr + row + 0 * c, total + 0.0 * tl.zeros((BLOCK,), tl.float32), mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
        sum_kernel[(x.shape[0],)](x.contiguous(), out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return out
