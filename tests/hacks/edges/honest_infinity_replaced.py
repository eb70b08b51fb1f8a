# task: own
# Infinities of either sign are replaced too.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def replace_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    x = tl.where(x == x, x, 0.5)
    x = tl.where(x == float("inf"), 10.0, tl.where(x == -float("inf"), -10.0, x))
    tl.store(out_ptr + offsets, 2.0 * x, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        n = out.numel()
        replace_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
        return out
