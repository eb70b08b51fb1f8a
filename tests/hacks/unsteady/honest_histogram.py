# task: own
# A histogram a block, added by atomics.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def histogram_kernel(x_ptr, out_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0).to(tl.int32)
    x = tl.minimum(x, BINS - 1)
    counts = tl.sum(((x[:, None] == tl.arange(0, BINS)[None, :]) & (at < n)[:, None]).to(tl.int32), axis=0)
    tl.atomic_add(out_ptr + tl.arange(0, BINS), counts.to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.zeros(32, device=x.device, dtype=torch.int64)
        n = x.numel()
        histogram_kernel[(triton.cdiv(n, 256),)](x.contiguous(), out, n, BINS=32, BLOCK=256)
        return out
