# task: level1/sigmoid
# The grid by name, positional constants, launches in a loop over chunks.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def sigmoid_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    tl.store(y_ptr + at, tl.fdiv(1.0, 1.0 + tl.exp2(-x * 1.4426950408889634)), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.full_like(x, float("nan"))
        xs, ys = x.reshape(-1).chunk(4), y.view(-1).chunk(4)
        for a, b in zip(xs, ys, strict=True):
            sigmoid_kernel.run(a, b, a.numel(), 256, grid=(triton.cdiv(a.numel(), 256),), warmup=False, num_warps=4)
        return y
