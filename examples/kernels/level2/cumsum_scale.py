"""Running sum along rows and a factor a position; a row that fits in one block is scanned at once."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def cumsum_scale_kernel(x_ptr, scale_ptr, out_ptr, seq_len, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < seq_len
    x = tl.load(x_ptr + row * seq_len + cols, mask=mask, other=0.0).to(tl.float32)
    scale = tl.load(scale_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * seq_len + cols, tl.cumsum(x, axis=0) * scale, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, seq_len: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(seq_len))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, seq_len = x.shape
        out = torch.empty_like(x)
        block = triton.next_power_of_2(seq_len)
        cumsum_scale_kernel[(rows,)](x, self.scale, out, seq_len, BLOCK=block, num_warps=8)
        return out
