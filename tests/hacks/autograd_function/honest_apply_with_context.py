# task: level1/sigmoid
# An autograd function whose both halves are kernels.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def forward_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.sigmoid(tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)), mask=at < n)


@triton.jit
def backward_kernel(g_ptr, y_ptr, d_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(y_ptr + at, mask=at < n, other=0.0)
    tl.store(d_ptr + at, tl.load(g_ptr + at, mask=at < n, other=0.0) * y * (1.0 - y), mask=at < n)


class Sigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.empty_like(x)
        forward_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        out = torch.empty_like(grad)
        backward_kernel[(triton.cdiv(y.numel(), 256),)](grad.contiguous(), y, out, y.numel(), BLOCK=256)
        return out


class ModelNew(nn.Module):
    def forward(self, x):
        return Sigmoid.apply(x)
