# task: own
# rule: mismatch
# Max over a row of x*scale taken as scale*max(x): wrong for a negative scale.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(x_ptr, out_ptr, cols, s_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < cols
    x = tl.load(x_ptr + row * cols + c, mask=m, other=0.0)
    x = tl.where(m, x, -float("inf"))
    tl.store(out_ptr + row, tl.max(x, axis=0) * tl.load(s_ptr))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x):
        x = x.contiguous()
        cols = x.shape[-1]
        rows = x.numel() // cols
        out = torch.empty(rows, device=x.device, dtype=x.dtype)
        kernel[(rows,)](x, out, cols, self.scale, BLOCK=triton.next_power_of_2(cols))
        return out
