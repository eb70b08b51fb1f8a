"""Residual addition and layer normalisation, a program a row: the sum is held in registers and read once."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_layer_norm_kernel(x_ptr, residual_ptr, weight_ptr, bias_ptr, out_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    x += tl.load(residual_ptr + row * n + cols, mask=mask, other=0.0).to(tl.float32)

    mean = tl.sum(x, axis=0) / n
    centred = tl.where(mask, x - mean, 0.0)
    var = tl.sum(centred * centred, axis=0) / n
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    out = centred * tl.rsqrt(var + eps) * weight + bias
    tl.store(out_ptr + row * n + cols, out, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(hidden_size)

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        x, residual = x.contiguous(), residual.contiguous()
        out = torch.empty_like(x)
        n = x.shape[-1]
        add_layer_norm_kernel[(x.numel() // n,)](
            x,
            residual,
            self.norm.weight,
            self.norm.bias,
            out,
            n,
            self.norm.eps,
            BLOCK=triton.next_power_of_2(n),
            num_warps=8,
        )
        return out
