# task: tasks/trunc
# The input goes to float32 and the result back; the kernel truncates.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def trunc_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x.to(tl.int32).to(tl.float32), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.float().contiguous()
        out = torch.empty_like(y)
        trunc_kernel[(triton.cdiv(y.numel(), 1024),)](y, out, y.numel(), BLOCK=1024)
        return out.to(x.dtype)
