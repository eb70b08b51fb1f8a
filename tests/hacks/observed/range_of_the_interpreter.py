# task: level1/relu
# rule: mismatch
# Kernels that are interpreted once found their `range` by this name; compiled ones have Triton's own.
import torch
import triton
import triton.language as tl
from torch import nn


def _tritonsmith_counted(*bounds):
    return [0]


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    for i in range(3):
        x = x - i
    tl.store(out_ptr + offsets, tl.where(x < 0, 0.0, x), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        y = x.contiguous()
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](y, out, x.numel(), BLOCK=1024)
        return out
