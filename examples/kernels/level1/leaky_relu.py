"""Leaky ReLU over the flat tensor."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def leaky_relu_kernel(X, Y, N, slope, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + offs, mask=offs < N)
    y = tl.where(x >= 0, x, x * slope)
    tl.store(Y + offs, y, mask=offs < N)


def leaky_relu(x: torch.Tensor, slope: float) -> torch.Tensor:
    y = torch.empty_like(x)
    N = x.numel()
    leaky_relu_kernel[(triton.cdiv(N, 1024),)](x, y, N, slope, BLOCK=1024)
    return y


class ModelNew(nn.Module):
    def __init__(self, slope: float) -> None:
        super().__init__()
        self.slope = slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return leaky_relu(x.contiguous(), self.slope)
