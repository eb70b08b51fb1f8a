"""SELU with its two constants (Klambauer et al. 2017) written into the kernel."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def selu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    negative = 1.6732632423543772 * (tl.exp(tl.minimum(x, 0.0)) - 1.0)
    tl.store(out_ptr + i, 1.0507009873554805 * tl.where(x > 0.0, x, negative), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        selu_kernel[(triton.cdiv(x.numel(), 2048),)](x, out, x.numel(), BLOCK=2048, num_warps=8)
        return out
