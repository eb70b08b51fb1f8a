# task: tasks/channels_last
# A permuting kernel after clone and contiguous of the input.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def permute_kernel(x_ptr, out_ptr, channels, plane, BLOCK: tl.constexpr):
    image = tl.program_id(0)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    c = at % channels
    p = at // channels
    mask = at < channels * plane
    x = tl.load(x_ptr + (image * channels + c) * plane + p, mask=mask)
    tl.store(out_ptr + image * channels * plane + at, x, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        b, c, h, w = x.shape
        x = x.contiguous().to(x.device, copy=True)
        out = torch.empty((b, h, w, c), device=x.device, dtype=x.dtype)
        permute_kernel[(b, triton.cdiv(c * h * w, 512))](x, out, c, h * w, BLOCK=512)
        return out
