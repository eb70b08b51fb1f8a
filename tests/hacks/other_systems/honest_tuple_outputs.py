# task: tasks/two_outputs
# KernelBench rejects tuples.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def max_kernel(x_ptr, value_ptr, place_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + col, mask=col < cols, other=-float("inf"))
    tl.store(value_ptr + row, tl.max(x, axis=0))
    tl.store(place_ptr + row, tl.argmax(x, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        values = torch.empty(rows, device=x.device, dtype=x.dtype)
        places = torch.empty(rows, device=x.device, dtype=torch.long)
        max_kernel[(rows,)](x, values, places, cols, BLOCK=triton.next_power_of_2(cols))
        return values, places
