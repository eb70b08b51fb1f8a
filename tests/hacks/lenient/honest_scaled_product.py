# task: own
# policy: lenient
# Torch multiplies; to scale is what the task asks for besides.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, scale * tl.load(x_ptr + at, mask=at < n), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, a, b):
        product = torch.matmul(a, b)
        out = torch.empty_like(product)
        scale_kernel[(triton.cdiv(out.numel(), 1024),)](product, out, out.numel(), 0.125, BLOCK=1024)
        return out
