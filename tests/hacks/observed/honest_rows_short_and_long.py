# task: level1/softmax
# Rows longer than a block in a loop of two passes, shorter ones in one; the choice is the host's.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def short(x_ptr, y_ptr, C, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64) * C
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + r + c, mask=c < C, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(y_ptr + r + c, e / tl.sum(e, 0), mask=c < C)


@triton.jit
def long(x_ptr, y_ptr, C, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64) * C
    m = tl.full((BLOCK,), -float("inf"), tl.float32)
    s = tl.zeros((BLOCK,), tl.float32)
    for i in range(0, C, BLOCK):
        c = i + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + r + c, mask=c < C, other=-float("inf")).to(tl.float32)
        new = tl.maximum(m, x)
        s = s * tl.where(m == -float("inf"), 0.0, tl.exp(m - new)) + tl.where(c < C, tl.exp(x - new), 0.0)
        m = new
    top = tl.max(m, 0)
    total = tl.sum(tl.where(m == -float("inf"), 0.0, s * tl.exp(m - top)), 0)
    for i in range(0, C, BLOCK):
        c = i + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + r + c, mask=c < C, other=0.0).to(tl.float32)
        tl.store(y_ptr + r + c, tl.exp(x - top) / total, mask=c < C)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, cols = x.shape
        y = torch.empty_like(x)
        if cols <= 4096:
            short[(rows,)](x, y, cols, BLOCK=triton.next_power_of_2(cols))
        else:
            long[(rows,)](x, y, cols, BLOCK=2048)
        return y
