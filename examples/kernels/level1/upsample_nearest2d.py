"""Images enlarged twofold: each output pixel looks up its source, two neighbours sharing one cached read."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def upsample_kernel(x_ptr, out_ptr, n_out, height, width, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n_out
    col = index % (2 * width)
    row = index // (2 * width) % (2 * height)
    plane = index // (4 * height * width)
    value = tl.load(x_ptr + (plane * height + row // 2) * width + col // 2, mask=mask)
    tl.store(out_ptr + index, value, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, height, width = x.shape
        out = torch.empty((batch, channels, 2 * height, 2 * width), device=x.device, dtype=x.dtype)
        upsample_kernel[(triton.cdiv(out.numel(), 1024),)](x, out, out.numel(), height, width, BLOCK=1024)
        return out
