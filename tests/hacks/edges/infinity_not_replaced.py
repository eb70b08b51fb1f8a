# task: own
# rule: mismatch
# What is no number is replaced, and infinities are left.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def replace_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, 2.0 * tl.where(x == x, x, 0.5), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        n = out.numel()
        replace_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
        return out
