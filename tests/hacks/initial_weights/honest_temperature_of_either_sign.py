# task: own
# The maximum is taken of what the weight has scaled, whatever its sign.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def softmax_kernel(x_ptr, t_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + col, mask=col < cols, other=0.0) / tl.load(t_ptr)
    x = tl.where(col < cols, x, -float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + col, e / tl.sum(e, axis=0), mask=col < cols)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.temperature = nn.Parameter(torch.ones(1))

    def forward(self, x):
        x = x.contiguous()
        cols = x.shape[-1]
        out = torch.empty_like(x)
        block = triton.next_power_of_2(cols)
        softmax_kernel[(x.numel() // cols,)](x, self.temperature, out, cols, BLOCK=block)
        return out
