# task: own
# The kernel brings 8-bit floats to their places.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def turn(x_ptr, y_ptr, rows, columns, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    inside = (r < rows) & (c < columns)
    tl.store(y_ptr + c * rows + r, tl.load(x_ptr + r * columns + c, mask=inside), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, columns = x.shape
        y = torch.empty((columns, rows), dtype=x.dtype, device=x.device)
        turn[(triton.cdiv(rows, 32), triton.cdiv(columns, 32))](x, y, rows, columns, BLOCK=32)
        return y
