"""Unbiased variance of each row in two passes: the mean, then the squared deviations from it."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def variance_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row.to(tl.int64) * cols
    lanes = tl.arange(0, BLOCK)

    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        total += tl.load(x_ptr + start + lanes, mask=start + lanes < cols, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / cols

    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, cols, BLOCK):
        mask = start + lanes < cols
        x = tl.load(x_ptr + start + lanes, mask=mask, other=0.0).to(tl.float32)
        deviation = tl.where(mask, x - mean, 0.0)
        squares += deviation * deviation
    tl.store(out_ptr + row, tl.sum(squares, axis=0) / (cols - 1))


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, cols = x.shape
        out = torch.empty(rows, device=x.device, dtype=x.dtype)
        variance_kernel[(rows,)](x, out, cols, BLOCK=min(4096, triton.next_power_of_2(cols)), num_warps=8)
        return out
