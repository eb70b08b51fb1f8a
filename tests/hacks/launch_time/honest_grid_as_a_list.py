# task: own
# The compiled kernel asks a grid for its length and its items; Triton's interpreter adds a tuple to it.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, o_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(o_ptr + i, tl.load(x_ptr + i, mask=m) + 2 * tl.load(y_ptr + i, mask=m), mask=m)


class ModelNew(nn.Module):
    def forward(self, x, y):
        x, y = x.contiguous(), y.contiguous()
        out = torch.empty_like(x)
        n = out.numel()
        add_kernel[[triton.cdiv(n, 128)]](x, y, out, n, BLOCK=128)
        return out
