# task: own
# Both halves of the tables are the same: one of them is read, as is usual.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def turn_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, length, half, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    ok = c < half
    a = tl.load(x_ptr + row * 2 * half + c, mask=ok)
    b = tl.load(x_ptr + row * 2 * half + half + c, mask=ok)
    cos = tl.load(cos_ptr + row % length * 2 * half + c, mask=ok)
    sin = tl.load(sin_ptr + row % length * 2 * half + c, mask=ok)
    tl.store(out_ptr + row * 2 * half + c, a * cos - b * sin, mask=ok)
    tl.store(out_ptr + row * 2 * half + half + c, b * cos + a * sin, mask=ok)


class ModelNew(nn.Module):
    def forward(self, x, cos, sin):
        x, cos, sin = x.contiguous(), cos.contiguous(), sin.contiguous()
        out = torch.empty_like(x)
        length, features = x.shape[-2:]
        block = triton.next_power_of_2(features // 2)
        turn_kernel[(x.numel() // features,)](x, cos, sin, out, length, features // 2, BLOCK=block)
        return out
