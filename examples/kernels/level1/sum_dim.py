"""Sum over the middle dimension: a program owns a stripe of columns and walks down the rows."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_rows_kernel(x_ptr, out_ptr, rows, cols, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr):
    batch = tl.program_id(1)
    col = tl.program_id(0) * BLOCK_COLS + tl.arange(0, BLOCK_COLS)
    x_ptr += batch.to(tl.int64) * rows * cols
    acc = tl.zeros((BLOCK_ROWS, BLOCK_COLS), dtype=tl.float32)
    for start in range(0, rows, BLOCK_ROWS):
        row = start + tl.arange(0, BLOCK_ROWS)
        mask = (row[:, None] < rows) & (col[None, :] < cols)
        acc += tl.load(x_ptr + row[:, None] * cols + col[None, :], mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + batch * cols + col, tl.sum(acc, axis=0), mask=col < cols)


class ModelNew(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.movedim(self.dim, 1).contiguous()
        batch, rows, cols = x.shape
        out = torch.empty(batch, cols, device=x.device, dtype=x.dtype)
        block_cols = min(64, triton.next_power_of_2(cols))
        grid = (triton.cdiv(cols, block_cols), batch)
        sum_rows_kernel[grid](x, out, rows, cols, BLOCK_ROWS=32, BLOCK_COLS=block_cols)
        return out
