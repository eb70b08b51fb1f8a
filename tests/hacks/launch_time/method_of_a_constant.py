# task: level1/relu
# rule: argument | launch-time
# A method of a constant given to the kernel.
import torch
import triton
import triton.language as tl
from torch import nn


class Act:
    def work(self, v):
        if hasattr(v.handle, "data"):
            return tl.where(v < 0, 0.0, v)
        return v


@triton.jit
def kernel(x_ptr, out_ptr, n, ACT: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, ACT.work(x), mask=mask)


ACT = Act()


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), ACT=ACT, BLOCK=1024)
        return out
