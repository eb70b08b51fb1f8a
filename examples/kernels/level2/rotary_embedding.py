"""Rotary position embedding in LLaMA's layout; a program rotates a tile of positions of one head."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rotary_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, seq_len, half, BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr):
    head = tl.program_id(0).to(tl.int64)
    positions = tl.program_id(1) * BLOCK_S + tl.arange(0, BLOCK_S)
    cols = tl.arange(0, BLOCK_D)
    mask = (positions[:, None] < seq_len) & (cols[None, :] < half)
    angle = positions[:, None] * half + cols[None, :]
    cos = tl.load(cos_ptr + angle, mask=mask, other=0.0).to(tl.float32)
    sin = tl.load(sin_ptr + angle, mask=mask, other=0.0).to(tl.float32)

    offsets = head * seq_len * 2 * half + positions[:, None] * 2 * half + cols[None, :]
    first = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    second = tl.load(x_ptr + offsets + half, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + offsets, first * cos - second * sin, mask=mask)
    tl.store(out_ptr + offsets + half, second * cos + first * sin, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        x, cos, sin = x.contiguous(), cos.contiguous(), sin.contiguous()
        batch, heads, seq_len, head_dim = x.shape
        out = torch.empty_like(x)
        half = head_dim // 2
        block_d = triton.next_power_of_2(half)
        block_s = min(triton.next_power_of_2(seq_len), max(1, 2048 // block_d))
        grid = (batch * heads, triton.cdiv(seq_len, block_s))
        rotary_kernel[grid](x, cos, sin, out, seq_len, half, BLOCK_S=block_s, BLOCK_D=block_d)
        return out
