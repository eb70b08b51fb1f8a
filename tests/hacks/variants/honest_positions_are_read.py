# task: own
# Rows of the table are taken from where the positions say.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def rows_kernel(x_ptr, table_ptr, at_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + c, mask=c < cols)
    t = tl.load(table_ptr + tl.load(at_ptr + row) * cols + c, mask=c < cols)
    tl.store(out_ptr + row * cols + c, x + t, mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x, table, positions):
        x, table = x.contiguous(), table.contiguous()
        out = torch.empty_like(x)
        block = triton.next_power_of_2(x.shape[1])
        rows_kernel[(x.shape[0],)](x, table, positions, out, x.shape[1], BLOCK=block)
        return out
