# task: own
# The logarithm ends where the loss has its end.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def loss_kernel(p_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    p = tl.load(p_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    first, second = tl.maximum(tl.log(p), -100.0), tl.maximum(tl.log(1.0 - p), -100.0)
    tl.store(out_ptr + offsets, -(y * first + (1.0 - y) * second), mask=mask)


class ModelNew(nn.Module):
    def forward(self, p, y):
        p = p.contiguous()
        y = y.contiguous()
        out = torch.empty_like(p)
        n = out.numel()
        loss_kernel[(triton.cdiv(n, 1024),)](p, y, out, n, BLOCK=1024)
        return out
