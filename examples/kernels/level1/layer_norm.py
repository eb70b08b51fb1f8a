"""Layer normalisation: a row a program, mean and variance in two passes over registers."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def layer_norm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, dim, eps, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * dim
    col = tl.arange(0, BLOCK)
    mask = col < dim
    x = tl.load(x_ptr + start + col, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / dim
    centred = tl.where(mask, x - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / dim
    weight = tl.load(weight_ptr + col, mask=mask, other=0.0)
    bias = tl.load(bias_ptr + col, mask=mask, other=0.0)
    tl.store(out_ptr + start + col, centred / tl.sqrt(variance + eps) * weight + bias, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        dim = x.shape[-1]
        out = torch.empty_like(x)
        layer_norm_kernel[(x.numel() // dim,)](
            x, self.norm.weight, self.norm.bias, out, dim, self.norm.eps, BLOCK=triton.next_power_of_2(dim)
        )
        return out
