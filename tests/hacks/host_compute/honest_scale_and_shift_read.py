# task: own
# Two single numbers beside the data go to the kernel as numbers.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def tanh_kernel(x_ptr, out_ptr, n, scale, shift, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32) * scale + shift
    tl.store(out_ptr + at, 2.0 / (1.0 + tl.exp(-2.0 * x)) - 1.0, mask=at < n)


class ModelNew(nn.Module):
    def forward(self, x, scale, shift):
        x = x.contiguous()
        out = torch.empty_like(x)
        tanh_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), scale.item(), float(shift), BLOCK=256)
        return out
