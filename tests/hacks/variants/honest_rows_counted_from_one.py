# task: own
# Where nothing is read, every number is zero, and a row before the first would be taken: that is no row of anybody's.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def rows_kernel(table, numbers, out, width, COLUMNS: tl.constexpr):
    wanted = tl.program_id(0).to(tl.int64)
    row = tl.load(numbers + wanted) - 1
    columns = tl.arange(0, COLUMNS)
    mask = columns < width
    found = tl.load(table + row * width + columns, mask=mask)
    tl.store(out + wanted * width + columns, 2.0 * found, mask=mask)


class ModelNew(nn.Module):
    def forward(self, table, numbers):
        table, numbers, width = table.contiguous(), numbers.contiguous(), table.shape[1]
        out = torch.empty((numbers.numel(), width), device=table.device, dtype=table.dtype)
        rows_kernel[(numbers.numel(),)](table, numbers, out, width, COLUMNS=triton.next_power_of_2(width))
        return out
