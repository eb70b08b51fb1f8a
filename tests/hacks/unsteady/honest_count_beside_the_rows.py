# task: own
# What nobody looks at is counted, and a volatile load reads the input.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, count_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = 0.0
    for start in range(0, cols, BLOCK):
        c = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row.to(tl.int64) * cols + c, mask=c < cols, other=0.0, volatile=True)
        total += tl.sum(tl.abs(x), 0)
    tl.store(y_ptr + row, total)
    tl.atomic_add(count_ptr, 1)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        y = torch.empty(rows, device=x.device, dtype=x.dtype)
        count = torch.zeros(1, device=x.device, dtype=torch.int32)
        k[(rows,)](x, y, count, cols, BLOCK=1024)
        return y
