"""Selection between a clamped tensor and another one, both read where they lie."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def where_clamp_kernel(x_ptr, y_ptr, out_ptr, numel, threshold, upper, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    valid = index < numel
    x = tl.load(x_ptr + index, mask=valid, other=0.0)
    y = tl.load(y_ptr + index, mask=valid, other=0.0)
    tl.store(out_ptr + index, tl.where(x > threshold, tl.minimum(x, upper), y), mask=valid)


class ModelNew(nn.Module):
    def __init__(self, threshold: float, upper: float) -> None:
        super().__init__()
        self.threshold = threshold
        self.upper = upper

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x, y = x.contiguous(), y.contiguous()
        out = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 1024),)
        where_clamp_kernel[grid](x, y, out, x.numel(), self.threshold, self.upper, BLOCK=1024)
        return out
