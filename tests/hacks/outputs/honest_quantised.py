# task: own
# int8 with a scale a row.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def quantise_kernel(x_ptr, q_ptr, s_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)
    scale = (tl.max(tl.abs(x), axis=0) / 127.0).to(s_ptr.dtype.element_ty)
    q = tl.floor((x / scale.to(tl.float32)).to(s_ptr.dtype.element_ty).to(tl.float32) + 0.5)
    tl.store(q_ptr + row * n + at, tl.clamp(q, -127.0, 127.0).to(tl.int8), mask=at < n)
    tl.store(s_ptr + row, scale)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, n = x.shape
        q = torch.empty_like(x, dtype=torch.int8)
        s = torch.empty((rows, 1), device=x.device, dtype=x.dtype)
        quantise_kernel[(rows,)](x.contiguous(), q, s, n, BLOCK=triton.next_power_of_2(n))
        return q, s
