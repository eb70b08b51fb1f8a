# task: own
# Few programs draw rows until there are none left: who comes first may do them all.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, ticket_ptr, rows, cols, BLOCK: tl.constexpr):
    row = tl.atomic_add(ticket_ptr, 1)
    while row < rows:
        total = 0.0
        for start in range(0, cols, BLOCK):
            c = start + tl.arange(0, BLOCK)
            total += tl.sum(tl.abs(tl.load(x_ptr + row.to(tl.int64) * cols + c, mask=c < cols, other=0.0)), 0)
        tl.store(y_ptr + row, total)
        row = tl.atomic_add(ticket_ptr, 1)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        y = torch.empty(rows, device=x.device, dtype=x.dtype)
        ticket = torch.zeros(1, device=x.device, dtype=torch.int32)
        k[(min(rows, 132),)](x, y, ticket, rows, cols, BLOCK=1024)
        return y
