"""Adaptive layer normalisation: a row stays in registers from its mean to its modulated result."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def layer_norm_modulate_kernel(x_ptr, scale_ptr, shift_ptr, out_ptr, seq_len, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    sample = row // seq_len
    cols = tl.arange(0, BLOCK)
    mask = cols < hidden
    x = tl.load(x_ptr + row.to(tl.int64) * hidden + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / hidden
    centred = tl.where(mask, x - mean, 0.0)
    inverse = tl.rsqrt(tl.sum(centred * centred, axis=0) / hidden + eps)
    scale = tl.load(scale_ptr + sample * hidden + cols, mask=mask, other=0.0).to(tl.float32)
    shift = tl.load(shift_ptr + sample * hidden + cols, mask=mask, other=0.0).to(tl.float32)
    y = centred * inverse * (1.0 + scale) + shift
    tl.store(out_ptr + row.to(tl.int64) * hidden + cols, y, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
        x, scale, shift = x.contiguous(), scale.contiguous(), shift.contiguous()
        batch, seq_len, hidden = x.shape
        out = torch.empty_like(x)
        layer_norm_modulate_kernel[(batch * seq_len,)](
            x, scale, shift, out, seq_len, hidden, 1e-6, BLOCK=triton.next_power_of_2(hidden)
        )
        return out
