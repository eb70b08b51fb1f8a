"""A factor, a bias and a clamp; a program stays within one channel's plane, so both parameters are scalars to it."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_bias_clamp_kernel(x_ptr, scale_ptr, bias_ptr, out_ptr, channels, plane, low, high, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    scale = tl.load(scale_ptr + pid % channels).to(tl.float32)
    bias = tl.load(bias_ptr + pid % channels).to(tl.float32)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < plane
    offsets = pid.to(tl.int64) * plane + cols
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    y = tl.clamp(x * scale + bias, low, high, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + offsets, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels: int, low: float, high: float) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(channels))
        self.bias = nn.Parameter(torch.randn(channels))
        self.low = low
        self.high = high

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, height, width = x.shape
        out = torch.empty_like(x)
        plane = height * width
        block = min(4096, triton.next_power_of_2(plane))
        scale_bias_clamp_kernel[(batch * channels, triton.cdiv(plane, block))](
            x, self.scale, self.bias, out, channels, plane, self.low, self.high, BLOCK=block, num_warps=8
        )
        return out
