"""Squeeze and excitation in three launches: means of the planes, both tiny layers, and the scaling."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def mean_kernel(x_ptr, mean_ptr, plane, BLOCK: tl.constexpr):
    index = tl.program_id(0)
    start = index.to(tl.int64) * plane
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for first in range(0, plane, BLOCK):
        offset = first + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + start + offset, mask=offset < plane, other=0.0).to(tl.float32)
    tl.store(mean_ptr + index, tl.sum(acc, axis=0) / plane)


@triton.jit
def gate_kernel(
    mean_ptr, w1_ptr, b1_ptr, w2_ptr, b2_ptr, gate_ptr, channels, squeezed,
    BLOCK_C: tl.constexpr, BLOCK_S: tl.constexpr,
):  # fmt: skip
    image = tl.program_id(0)
    c = tl.arange(0, BLOCK_C)
    s = tl.arange(0, BLOCK_S)
    both = (s[:, None] < squeezed) & (c[None, :] < channels)
    mean = tl.load(mean_ptr + image * channels + c, mask=c < channels, other=0.0)
    w1 = tl.load(w1_ptr + s[:, None] * channels + c[None, :], mask=both, other=0.0).to(tl.float32)
    hidden = tl.sum(w1 * mean[None, :], axis=1) + tl.load(b1_ptr + s, mask=s < squeezed, other=0.0).to(tl.float32)
    hidden = tl.maximum(hidden, 0.0)
    w2 = tl.load(w2_ptr + c[None, :] * squeezed + s[:, None], mask=both, other=0.0).to(tl.float32)
    logits = tl.sum(w2 * hidden[:, None], axis=0) + tl.load(b2_ptr + c, mask=c < channels, other=0.0).to(tl.float32)
    tl.store(gate_ptr + image * channels + c, tl.sigmoid(logits), mask=c < channels)


@triton.jit
def scale_kernel(x_ptr, gate_ptr, out_ptr, plane, BLOCK: tl.constexpr):
    index = tl.program_id(0)
    offset = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offset < plane
    here = index.to(tl.int64) * plane + offset
    gate = tl.load(gate_ptr + index)
    tl.store(out_ptr + here, tl.load(x_ptr + here, mask=mask, other=0.0) * gate, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.squeeze = nn.Linear(channels, squeezed)
        self.excite = nn.Linear(squeezed, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, height, width = x.shape
        plane = height * width
        squeezed = self.squeeze.weight.shape[0]
        mean = torch.empty((batch, channels), device=x.device, dtype=torch.float32)
        gate = torch.empty_like(mean)
        out = torch.empty_like(x)
        block = min(1024, triton.next_power_of_2(plane))
        mean_kernel[(batch * channels,)](x, mean, plane, BLOCK=block)
        gate_kernel[(batch,)](
            mean, self.squeeze.weight, self.squeeze.bias, self.excite.weight, self.excite.bias, gate,
            channels, squeezed,
            BLOCK_C=triton.next_power_of_2(channels), BLOCK_S=triton.next_power_of_2(squeezed),
        )  # fmt: skip
        scale_kernel[(batch * channels, triton.cdiv(plane, block))](x, gate, out, plane, BLOCK=block)
        return out
