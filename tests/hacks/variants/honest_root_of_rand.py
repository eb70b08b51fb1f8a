# task: own
# A root of what is drawn from 0 to 1, which has no other sign in this task.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def root_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.sqrt(x + 1e-3), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        n = out.numel()
        root_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
        return out
