# task: level1/relu
# rule: mismatch
# robust-kbench: shape (1,) is broadcast against the truth.
import torch
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
        out = torch.empty(1, device=x.device, dtype=x.dtype)
        relu_kernel[(1,)](x, out, 1, BLOCK=16)
        return out
