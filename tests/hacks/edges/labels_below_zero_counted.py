# task: tasks/labels_below_zero
# rule: mismatch
# Labels below zero are left out of the sum, and counted in what it is divided by.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(x_ptr, y_ptr, w_ptr, part_ptr, norm_ptr, C, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < C
    x = tl.load(x_ptr + r * C + c, mask=m, other=-float("inf")).to(tl.float32)
    y = tl.load(y_ptr + r)
    top = tl.max(x, axis=0)
    lse = top + tl.log(tl.sum(tl.exp(x - top), axis=0))
    ok = y >= 0
    at = tl.load(x_ptr + r * C + tl.where(ok, y, 0)).to(tl.float32)
    w = 1.0
    value = tl.where(ok, (lse - at) * w, 0.0)
    norm = w
    tl.store(part_ptr + r, value)
    tl.store(norm_ptr + r, norm)


@triton.jit
def total(part_ptr, norm_ptr, out_ptr, R, BLOCK: tl.constexpr):
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    div = tl.zeros([BLOCK], dtype=tl.float32)
    for s in range(0, R, BLOCK):
        o = s + tl.arange(0, BLOCK)
        acc += tl.load(part_ptr + o, mask=o < R, other=0.0)
        div += tl.load(norm_ptr + o, mask=o < R, other=0.0)
    tl.store(out_ptr, tl.sum(acc, axis=0) / tl.sum(div, axis=0))


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.eps = 0.1

    def forward(self, x, y):
        x, y = x.contiguous(), y.contiguous()
        C = x.shape[-1]
        R = x.numel() // C
        part = torch.empty(R, device=x.device, dtype=torch.float32)
        norm = torch.empty(R, device=x.device, dtype=torch.float32)
        out = torch.empty((), device=x.device, dtype=x.dtype)
        kernel[(R,)](x, y, x, part, norm, C, BLOCK=triton.next_power_of_2(C))
        total[(1,)](part, norm, out, R, BLOCK=256)
        return out
