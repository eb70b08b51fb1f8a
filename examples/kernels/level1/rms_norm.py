"""Root-mean-square normalisation: a row a program."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def rms_norm_kernel(x_ptr, weight_ptr, out_ptr, dim, eps, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * dim
    col = tl.arange(0, BLOCK)
    mask = col < dim
    x = tl.load(x_ptr + start + col, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + col, mask=mask, other=0.0)
    mean_square = tl.sum(x * x, axis=0) / dim
    tl.store(out_ptr + start + col, x / tl.sqrt(mean_square + eps) * weight, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        dim = x.shape[-1]
        out = torch.empty_like(x)
        rms_norm_kernel[(x.numel() // dim,)](x, self.weight, out, dim, self.eps, BLOCK=triton.next_power_of_2(dim))
        return out
