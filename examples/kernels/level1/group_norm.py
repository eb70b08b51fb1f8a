"""Group normalisation: one program a group of an image, three passes over its elements."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def group_norm_kernel(
    x_ptr, weight_ptr, bias_ptr, out_ptr, groups, group_channels, plane, eps, BLOCK: tl.constexpr
):  # fmt: skip
    index = tl.program_id(0)
    size = group_channels * plane
    start = index.to(tl.int64) * size
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for first in range(0, size, BLOCK):
        offset = first + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + start + offset, mask=offset < size, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / size

    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for first in range(0, size, BLOCK):
        offset = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start + offset, mask=offset < size, other=0.0).to(tl.float32)
        deviation = tl.where(offset < size, x - mean, 0.0)
        squares += deviation * deviation
    inverse = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / size + eps)

    for first in range(0, size, BLOCK):
        offset = first + tl.arange(0, BLOCK)
        mask = offset < size
        channel = (index % groups) * group_channels + offset // plane
        x = tl.load(x_ptr + start + offset, mask=mask).to(tl.float32)
        weight = tl.load(weight_ptr + channel, mask=mask)
        bias = tl.load(bias_ptr + channel, mask=mask)
        tl.store(out_ptr + start + offset, (x - mean) * inverse * weight + bias, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, groups: int, channels: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, height, width = x.shape
        groups = self.norm.num_groups
        plane = height * width
        out = torch.empty_like(x)
        block = min(4096, triton.next_power_of_2(triton.cdiv(channels // groups * plane, 2)))
        group_norm_kernel[(batch * groups,)](
            x, self.norm.weight, self.norm.bias, out, groups, channels // groups, plane, self.norm.eps, BLOCK=block
        )
        return out
