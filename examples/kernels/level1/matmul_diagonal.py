"""Product with a diagonal matrix: each row times its number; the diagonal matrix is never made."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scale_rows_kernel(d_ptr, b_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    offsets = row.to(tl.int64) * cols + col
    b = tl.load(b_ptr + offsets, mask=col < cols)
    tl.store(out_ptr + offsets, tl.load(d_ptr + row) * b, mask=col < cols)


class ModelNew(nn.Module):
    def forward(self, d: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        d, b = d.contiguous(), b.contiguous()
        rows, cols = b.shape
        out = torch.empty_like(b)
        block = min(1024, triton.next_power_of_2(cols))
        scale_rows_kernel[(rows, triton.cdiv(cols, block))](d, b, out, cols, BLOCK=block)
        return out
