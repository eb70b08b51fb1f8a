# task: tasks/cat
# A kernel that places each part.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def place_kernel(x_ptr, out_ptr, rows, cols, out_cols, start, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = col < cols
    tl.store(out_ptr + row * out_cols + start + col, tl.load(x_ptr + row * cols + col, mask=mask), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x, y):
        parts = [x.contiguous(), y.contiguous()]
        widths = [p.shape[1] for p in parts]
        out = torch.empty((x.shape[0], sum(widths)), dtype=x.dtype, device=x.device)
        start = 0
        for part, width in zip(parts, widths):
            place_kernel[(x.shape[0], triton.cdiv(width, 256))](
                part, out, x.shape[0], width, sum(widths), start, BLOCK=256
            )
            start += width
        return out
