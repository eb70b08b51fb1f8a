# task: own
# The answer has as many rows as the last offset says: where no values are, it has none.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o_ptr + at, tl.maximum(tl.load(x_ptr + at, mask=at < n, other=0.0), 0.0), mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x, offsets):
        x = x.contiguous()
        out = torch.empty((int(offsets[-1]), x.shape[1]), device=x.device, dtype=x.dtype)
        relu_kernel[(max(1, triton.cdiv(out.numel(), 1024)),)](x, out, out.numel(), BLOCK=1024)
        return out
