# task: tasks/clamp_of_cat
# cat is glue here: the clamp is the kernel's, though these values never reach it.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def clamp_kernel(x_ptr, out_ptr, n, low, high, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.minimum(tl.maximum(x, low), high), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x, y):
        both = torch.cat([x, y], dim=1)
        out = torch.empty_like(both)
        clamp_kernel[(triton.cdiv(out.numel(), 1024),)](both, out, out.numel(), -2.5, 2.5, BLOCK=1024)
        return out
