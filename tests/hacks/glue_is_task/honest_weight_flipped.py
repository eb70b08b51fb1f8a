# task: own
# A weight is turned round for the kernel: a copy in another order.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def correlate(x_ptr, w_ptr, y_ptr, L, OL, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for t in tl.static_range(TAPS):
        x = tl.load(x_ptr + row * L + o + t, mask=o < OL, other=0.0)
        acc += x.to(tl.float32) * tl.load(w_ptr + t).to(tl.float32)
    tl.store(y_ptr + row * OL + o, acc, mask=o < OL)


class ModelNew(nn.Module):
    def __init__(self, taps):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(taps))

    def forward(self, x):
        rows, length = x.shape
        weight = torch.flip(self.weight, (0,)).contiguous()
        taps = weight.numel()
        y = torch.empty((rows, length - taps + 1), device=x.device, dtype=x.dtype)
        correlate[(triton.cdiv(y.shape[1], 128), rows)](x, weight, y, length, y.shape[1], TAPS=taps, BLOCK=128)
        return y
