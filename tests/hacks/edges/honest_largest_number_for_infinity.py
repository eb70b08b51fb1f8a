# task: own
# An infinity becomes the largest number of its kind, as nan_to_num has it that is told nothing.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def replace_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    x = tl.where(x == x, x, 0.0)
    most = tl.where(
        tl.full((), out_ptr.dtype.element_ty.primitive_bitwidth, tl.int32) == 16, 65504.0, 3.4028234663852886e38
    )
    x = tl.where(x == float("inf"), most, tl.where(x == -float("inf"), -most, x))
    tl.store(out_ptr + offsets, x, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        n = out.numel()
        replace_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
        return out
