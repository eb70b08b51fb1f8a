# task: own
# rule: mismatch
# Layer norm without its weight and bias.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def norm_kernel(x_ptr, out_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    ok = c < cols
    x = tl.load(x_ptr + row * cols + c, mask=ok, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / cols
    d = tl.where(ok, x - mean, 0.0)
    var = tl.sum(d * d, axis=0) / cols
    tl.store(out_ptr + row * cols + c, d * tl.rsqrt(var + eps), mask=ok)


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()

    def forward(self, x):
        out = torch.empty_like(x)
        norm_kernel[(x.shape[0],)](x.contiguous(), out, x.shape[1], 1e-5, BLOCK=triton.next_power_of_2(x.shape[1]))
        return out
