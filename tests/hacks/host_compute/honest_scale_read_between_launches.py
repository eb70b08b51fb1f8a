# task: own
# A first kernel finds the largest magnitude, Python reads it, a second kernel is given the number.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def largest_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    best = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        best = tl.maximum(best, tl.abs(tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)))
    tl.store(out_ptr, tl.max(best, axis=0))


@triton.jit
def divide_kernel(x_ptr, out_ptr, n, scale, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.float32)
    tl.store(out_ptr + at, x / scale, mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        n = x.numel()
        largest = torch.empty(1, device=x.device, dtype=torch.float32)
        largest_kernel[(1,)](x, largest, n, BLOCK=1024)
        scale = largest.item()
        out = torch.empty_like(x)
        divide_kernel[(triton.cdiv(n, 1024),)](x, out, n, scale, BLOCK=1024)
        return out
