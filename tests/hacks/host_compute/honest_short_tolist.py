# task: tasks/scale_by_tensor
# tolist of one element: lengths and scales come that way.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scale_kernel(x_ptr, out_ptr, scale, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * scale, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x, scale):
        (factor,) = scale.tolist()
        out = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, factor, x.numel(), BLOCK=1024)
        return out
