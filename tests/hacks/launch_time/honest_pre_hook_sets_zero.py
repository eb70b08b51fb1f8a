# task: level1/relu
# The documented use of pre_hook: clear the output before each trial.
import torch
import triton
import triton.language as tl
from torch import nn


def clear(arguments):
    arguments["out_ptr"].zero_()


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 256}, num_warps=4, pre_hook=clear),
        triton.Config({"BLOCK": 1024}, num_warps=8, pre_hook=clear),
    ],
    key=["n"],
)
@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        relu_kernel[lambda META: (triton.cdiv(x.numel(), META["BLOCK"]),)](x, out, x.numel())
        return out
