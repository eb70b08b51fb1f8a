# task: own
# Positions take no kernel.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, o_ptr, d, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + r * d + i, mask=i < d, other=0.0).to(tl.float32)
    tl.store(o_ptr + r, tl.sum(x, axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, d = x.shape
        out = torch.empty(rows, dtype=x.dtype, device=x.device)
        k[(rows,)](x, out, d, BLOCK=triton.next_power_of_2(d))
        return out, torch.arange(d, device=x.device)
