"""Batch norm with the batch's own statistics, ReLU and 2 x 2 max pooling in two kernels.

The first gives mean and variance of each plane; the second merges the planes of a channel (Chan et al., 1983, for
equal counts), normalises, and pools. The running statistics are not kept: the output does not depend on them.
"""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def plane_stats_kernel(x_ptr, mean_ptr, var_ptr, plane, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    x_ptr += pid * plane
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, plane, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + cols, mask=cols < plane, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / plane

    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, plane, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < plane, other=0.0).to(tl.float32)
        centred = tl.where(cols < plane, x - mean, 0.0)
        squares += centred * centred
    tl.store(mean_ptr + pid, mean)
    tl.store(var_ptr + pid, tl.sum(squares, axis=0) / plane)


@triton.jit
def bn_relu_maxpool_kernel(
    x_ptr,
    mean_ptr,
    var_ptr,
    gamma_ptr,
    beta_ptr,
    out_ptr,
    batch,
    channels,
    height,
    width,
    eps,
    BLOCK_B: tl.constexpr,
    BLOCK: tl.constexpr,
):
    pid = tl.program_id(0)
    channel = pid % channels
    images = tl.arange(0, BLOCK_B)
    means = tl.load(mean_ptr + images * channels + channel, mask=images < batch, other=0.0)
    inner = tl.load(var_ptr + images * channels + channel, mask=images < batch, other=0.0)
    mean = tl.sum(means, axis=0) / batch
    between = tl.where(images < batch, (means - mean) * (means - mean), 0.0)
    var = (tl.sum(inner, axis=0) + tl.sum(between, axis=0)) / batch
    factor = tl.load(gamma_ptr + channel).to(tl.float32) * tl.rsqrt(var + eps)
    beta = tl.load(beta_ptr + channel).to(tl.float32)

    out_height = height // 2
    out_width = width // 2
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < out_height * out_width
    corner = pid * height * width + cols // out_width * 2 * width + cols % out_width * 2
    window = tl.arange(0, 4)
    offsets = corner[:, None] + (window // 2 * width + window % 2)[None, :]
    x = tl.load(x_ptr + offsets, mask=mask[:, None], other=0.0).to(tl.float32)
    y = tl.maximum((x - mean) * factor + beta, 0.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + pid * out_height * out_width + cols, tl.max(y, axis=1), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bn = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, height, width = x.shape
        mean = torch.empty((batch, channels), device=x.device, dtype=torch.float32)
        var = torch.empty_like(mean)
        plane = height * width
        plane_stats_kernel[(batch * channels,)](x, mean, var, plane, BLOCK=min(4096, triton.next_power_of_2(plane)))

        out = torch.empty((batch, channels, height // 2, width // 2), device=x.device, dtype=x.dtype)
        pooled = (height // 2) * (width // 2)
        block = min(1024, triton.next_power_of_2(pooled))
        bn_relu_maxpool_kernel[(batch * channels, triton.cdiv(pooled, block))](
            x,
            mean,
            var,
            self.bn.weight,
            self.bn.bias,
            out,
            batch,
            channels,
            height,
            width,
            self.bn.eps,
            BLOCK_B=triton.next_power_of_2(batch),
            BLOCK=block,
        )
        return out
