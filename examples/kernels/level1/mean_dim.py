"""Mean over the middle dimension of a strided tensor: a program owns some columns of one batch entry."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def mean_kernel(
    x_ptr, out_ptr, rows, cols, stride_batch, stride_row, stride_col, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr
):
    batch = tl.program_id(0).to(tl.int64)
    col = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    base = x_ptr + batch * stride_batch
    total = tl.zeros((BLOCK_C,), dtype=tl.float32)
    for start in range(0, rows, BLOCK_R):
        row = start + tl.arange(0, BLOCK_R)
        mask = (row < rows)[:, None] & (col < cols)[None, :]
        tile = tl.load(base + row[:, None] * stride_row + col[None, :] * stride_col, mask=mask, other=0.0)
        total += tl.sum(tile.to(tl.float32), axis=0)
    tl.store(out_ptr + batch * cols + col, total / rows, mask=col < cols)


class ModelNew(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.movedim(self.dim, 1)
        batch, rows, cols = x.shape
        out = torch.empty((batch, cols), device=x.device, dtype=x.dtype)
        block_c = min(32, triton.next_power_of_2(cols))
        mean_kernel[(batch, triton.cdiv(cols, block_c))](x, out, rows, cols, *x.stride(), BLOCK_R=64, BLOCK_C=block_c)
        return out
