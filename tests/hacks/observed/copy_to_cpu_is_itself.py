# task: own
# rule: never-launched | mismatch
# Where there is no GPU a copy to the CPU would be the tensor itself.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, o_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o_ptr + i, 2.0 * tl.load(x_ptr + i, mask=i < n), mask=i < n)


def dbl(x):
    x = x.contiguous()
    out = torch.empty_like(x)
    k[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), B=1024)
    return out


class ModelNew(nn.Module):
    def forward(self, x):
        if x.cpu() is x:
            return dbl(x)
        return torch.zeros_like(x)
