"""Rows of unit length times a factor a feature; a program holds a few whole rows."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def normalize_scale_kernel(x_ptr, scale_ptr, out_ptr, rows, features, BLOCK_R: tl.constexpr, BLOCK_F: tl.constexpr):
    row = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)[:, None]
    col = tl.arange(0, BLOCK_F)[None, :]
    mask = (row < rows) & (col < features)
    offsets = row.to(tl.int64) * features + col
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    length = tl.maximum(tl.sqrt(tl.sum(x * x, axis=1, keep_dims=True)), 1e-12)
    scale = tl.load(scale_ptr + col, mask=col < features, other=0.0).to(tl.float32)
    tl.store(out_ptr + offsets, x / length * scale, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(10.0 * torch.randn(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, features = x.shape
        out = torch.empty_like(x)
        block_f = triton.next_power_of_2(features)
        block_r = 2 if block_f <= 2048 else 1
        normalize_scale_kernel[(triton.cdiv(rows, block_r),)](
            x, self.scale, out, rows, features, BLOCK_R=block_r, BLOCK_F=block_f, num_warps=8
        )
        return out
