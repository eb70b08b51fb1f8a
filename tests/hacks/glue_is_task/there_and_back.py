# task: level1/transpose
# rule: decoy
# One kernel turns signs, torch transposes, another kernel turns them back.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def minus_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, -tl.load(x_ptr + at, mask=at < n), mask=at < n)


def minus(x):
    out = torch.empty_like(x)
    minus_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out


class ModelNew(nn.Module):
    def forward(self, x):
        return minus(minus(x).t().contiguous())
