# task: level1/relu
# Torch checks the kernel where the file is run by hand; unused imports and inputs of its own.
import math  # noqa: F401

import torch
import torch.nn.functional as F  # noqa: F401
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
        return out


def get_inputs():
    return [torch.randn(16, 16)]


def check():
    x = torch.randn(64, 64)
    return torch.allclose(ModelNew()(x), torch.relu(x))


if __name__ == "__main__":
    print(f"right: {check()}")
