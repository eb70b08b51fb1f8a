"""Depthwise convolution: a block of output pixels a program, the filter unrolled."""

import torch
import triton
import triton.language as tl
from torch import nn

BLOCK = 1024


@triton.jit
def depthwise_kernel(
    x_ptr, weight_ptr, out_ptr, n_outputs, channels, height, width, out_height, out_width,
    KERNEL: tl.constexpr, PADDING: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    out_index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = out_index < n_outputs
    image_channel = out_index // (out_height * out_width)
    top = out_index // out_width % out_height - PADDING
    left = out_index % out_width - PADDING
    filters = weight_ptr + image_channel % channels * (KERNEL * KERNEL)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for dy in tl.static_range(KERNEL):
        for dx in tl.static_range(KERNEL):
            y = top + dy
            x = left + dx
            inside = mask & (y >= 0) & (y < height) & (x >= 0) & (x < width)
            value = tl.load(x_ptr + (image_channel * height + y) * width + x, mask=inside, other=0.0).to(tl.float32)
            acc += value * tl.load(filters + dy * KERNEL + dx, mask=mask, other=0.0)
    tl.store(out_ptr + out_index, acc, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel_size, padding=1, groups=channels, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, height, width = x.shape
        kernel = self.conv.weight.shape[-1]
        out_height, out_width = height + 3 - kernel, width + 3 - kernel
        out = torch.empty(batch, channels, out_height, out_width, device=x.device, dtype=x.dtype)
        depthwise_kernel[(triton.cdiv(out.numel(), BLOCK),)](
            x, self.conv.weight, out, out.numel(), channels, height, width, out_height, out_width,
            KERNEL=kernel, PADDING=1, BLOCK=BLOCK,
        )  # fmt: skip
        return out
