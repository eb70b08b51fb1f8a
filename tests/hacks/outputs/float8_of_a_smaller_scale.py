# task: tasks/float8_rows
# rule: mismatch
# Rows are scaled to the number below the largest: each value is beside the right one.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def quantise(x_ptr, y_ptr, scale_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + column, mask=column < columns, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x)), 1e-12) / 416.0
    y = tl.minimum(tl.maximum(tl.div_rn(x, scale + tl.zeros_like(x)), -448.0), 448.0)
    tl.store(y_ptr + row * columns + column, y.to(tl.float8e4nv), mask=column < columns)
    tl.store(scale_ptr + row, scale)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, columns = x.shape
        y = torch.empty(x.shape, dtype=torch.float8_e4m3fn, device=x.device)
        scale = torch.empty((rows, 1), dtype=torch.float32, device=x.device)
        quantise[(rows,)](x, y, scale, columns, BLOCK=triton.next_power_of_2(columns))
        return y, scale
