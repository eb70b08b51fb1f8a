"""Images times one factor a channel: a program reads its plane's factor once."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scale_planes_kernel(x_ptr, scale_ptr, out_ptr, channels, plane, BLOCK: tl.constexpr):
    image_channel = tl.program_id(0)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < plane
    start = image_channel.to(tl.int64) * plane
    factor = tl.load(scale_ptr + image_channel % channels)
    x = tl.load(x_ptr + start + offsets, mask=mask)
    tl.store(out_ptr + start + offsets, x * factor, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        x, scale = x.contiguous(), scale.contiguous()
        batch, channels, height, width = x.shape
        out = torch.empty_like(x)
        plane = height * width
        block = min(4096, triton.next_power_of_2(plane))
        grid = (batch * channels, triton.cdiv(plane, block))
        scale_planes_kernel[grid](x, scale, out, channels, plane, BLOCK=block)
        return out
