# task: own
# The weight is cast and turned at each call; a view of it, and memory for the answer's parts, are kept from the first.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def add_kernel(x_ptr, w_ptr, bias_ptr, part_ptr, n, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    w = tl.load(w_ptr + at, mask=at < n, other=0.0)
    bias = tl.load(bias_ptr + at % cols, mask=at < n, other=0.0)
    tl.store(part_ptr + at, x * w + bias, mask=at < n)


@triton.jit
def relu_kernel(part_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.maximum(tl.load(part_ptr + at, mask=at < n, other=0.0), 0.0), mask=at < n)


class ModelNew(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(wide, wide))
        self.shift = nn.Parameter(torch.zeros(1, wide))
        self.part, self.row = None, None

    def forward(self, x):
        x = x.contiguous()
        n = x.numel()
        if self.row is None:
            self.row = self.shift.view(-1)
        if self.part is None or self.part.shape != x.shape:
            self.part = torch.empty_like(x)
        out = torch.empty_like(x)
        grid = (triton.cdiv(n, 1024),)
        add_kernel[grid](x, self.scale.t().contiguous(), self.row, self.part, n, x.shape[1], BLOCK=1024)
        relu_kernel[grid](self.part, out, n, BLOCK=1024)
        return out
