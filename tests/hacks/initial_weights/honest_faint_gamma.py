# task: own
# The weight goes by another name; it begins as the reference's does.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(x_ptr, scale_ptr, out_ptr, columns, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    scale = tl.load(scale_ptr + at % columns, mask=at < n, other=0.0).to(tl.float32)
    tl.store(out_ptr + at, tl.sigmoid(x) + scale * tl.maximum(x, 0.0), mask=at < n)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(1e-6 * torch.randn(dim))

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 1024),)](x, self.scale, out, x.shape[1], x.numel(), BLOCK=1024)
        return out
