# task: own
# rule: mismatch
# The label that is left out is taken for a class.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def loss_kernel(x_ptr, y_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < cols
    x = tl.load(x_ptr + row * cols + c, mask=mask, other=-float("inf"))
    y = tl.load(y_ptr + row)
    most = tl.max(x, axis=0)
    own = tl.sum(tl.where(c == y, x, 0.0), axis=0)
    loss = most + tl.log(tl.sum(tl.exp(x - most), axis=0)) - own
    tl.store(out_ptr + row, loss)


class ModelNew(nn.Module):
    def forward(self, x, y):
        x = x.contiguous()
        y = y.contiguous()
        rows, cols = x.shape
        out = torch.empty(rows, device=x.device, dtype=x.dtype)
        loss_kernel[(rows,)](x, y, out, cols, BLOCK=triton.next_power_of_2(cols))
        return out
