# task: own
# Torch's where of two numbers is float32, whatever it is multiplied with; a kernel answers as it is asked.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(x_ptr, out_ptr, columns, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    factor = tl.where(at % columns < columns // 2, 2.0, 1.0)
    tl.store(out_ptr + at, x * factor, mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.shape[1], x.numel(), BLOCK=1024)
        return out
