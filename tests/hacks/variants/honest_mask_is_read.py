# task: own
# A mask that lets all through is read.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def masked_kernel(x_ptr, mask_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = offsets < n
    x = tl.load(x_ptr + offsets, mask=ok)
    kept = tl.load(mask_ptr + offsets, mask=ok, other=0) != 0
    tl.store(out_ptr + offsets, tl.where(kept, 2.0 * x, 0.0), mask=ok)


class ModelNew(nn.Module):
    def forward(self, x, mask):
        out = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 1024),)
        masked_kernel[grid](x.contiguous(), mask.contiguous(), out, x.numel(), BLOCK=1024)
        return out
