# task: level1/mul_broadcast
# Broadcasting by stride zero: expand moves nothing.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def mul_kernel(x_ptr, s_ptr, out_ptr, channels, plane, stride_sb, stride_sc, BLOCK: tl.constexpr):
    image, channel = tl.program_id(0), tl.program_id(1)
    at = tl.program_id(2) * BLOCK + tl.arange(0, BLOCK)
    start = (image * channels + channel) * plane
    scale = tl.load(s_ptr + image * stride_sb + channel * stride_sc)
    tl.store(out_ptr + start + at, scale * tl.load(x_ptr + start + at, mask=at < plane), mask=at < plane)


class ModelNew(nn.Module):
    def forward(self, x, scale):
        b, c, h, w = x.shape
        scale = scale[None].expand(b, -1, -1, -1)
        out = torch.empty((b, c, h, w), dtype=x.dtype, device=x.device)
        mul_kernel[(b, c, triton.cdiv(h * w, 512))](
            x.contiguous(), scale, out, c, h * w, scale.stride(0), scale.stride(1), BLOCK=512
        )
        return out
