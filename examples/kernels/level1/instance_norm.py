"""Instance normalisation, one program a plane: mean and squared deviations in one pass (Welford 1962)."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def instance_norm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, channels, plane, eps, BLOCK: tl.constexpr):
    index = tl.program_id(0)
    start = index.to(tl.int64) * plane
    count = tl.zeros((BLOCK,), dtype=tl.float32)
    means = tl.zeros((BLOCK,), dtype=tl.float32)
    m2 = tl.zeros((BLOCK,), dtype=tl.float32)
    for first in range(0, plane, BLOCK):
        offset = first + tl.arange(0, BLOCK)
        mask = offset < plane
        x = tl.load(x_ptr + start + offset, mask=mask, other=0.0).to(tl.float32)
        count += tl.where(mask, 1.0, 0.0)
        delta = tl.where(mask, x - means, 0.0)
        means += delta / tl.maximum(count, 1.0)
        m2 += delta * tl.where(mask, x - means, 0.0)
    mean = tl.sum(means * count, axis=0) / plane
    variance = tl.sum(m2 + count * (means - mean) * (means - mean), axis=0) / plane

    channel = index % channels
    factor = tl.load(weight_ptr + channel).to(tl.float32) * tl.rsqrt(variance + eps)
    bias = tl.load(bias_ptr + channel).to(tl.float32)
    for first in range(0, plane, BLOCK):
        offset = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + start + offset, mask=offset < plane, other=0.0).to(tl.float32)
        tl.store(out_ptr + start + offset, (x - mean) * factor + bias, mask=offset < plane)


class ModelNew(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.InstanceNorm2d(channels, affine=True)
        nn.init.uniform_(self.norm.weight, 0.5, 1.5)
        nn.init.normal_(self.norm.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, height, width = x.shape
        plane = height * width
        out = torch.empty_like(x)
        block = min(2048, triton.next_power_of_2(plane))
        instance_norm_kernel[(batch * channels,)](
            x, self.norm.weight, self.norm.bias, out, channels, plane, self.norm.eps, BLOCK=block, num_warps=8
        )
        return out
