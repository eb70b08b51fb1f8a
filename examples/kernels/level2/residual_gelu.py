"""Bias, GELU and residual in one pass. The tanh form of GELU is y * sigmoid(2 z): no tanh is needed."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def residual_gelu_kernel(x_ptr, bias_ptr, residual_ptr, out_ptr, n_elements, features, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    y = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    y += tl.load(bias_ptr + offsets % features, mask=mask, other=0.0).to(tl.float32)
    z = 0.7978845608028654 * (y + 0.044715 * y * y * y)
    residual = tl.load(residual_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + offsets, residual + y * tl.sigmoid(2.0 * z), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(features))

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        x, residual = x.contiguous(), residual.contiguous()
        out = torch.empty_like(x)
        residual_gelu_kernel[(triton.cdiv(x.numel(), 1024),)](
            x, self.bias, residual, out, x.numel(), x.shape[-1], BLOCK=1024
        )
        return out
