# task: own
# Parameters are set and got by names that end in a number.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def scale_shift(x, w, b, y, rows, D, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < D
    v = tl.load(x + r * D + c, mask=m) * tl.load(w + c, mask=m) + tl.load(b + c, mask=m)
    tl.store(y + r * D + c, v, mask=m)


class ModelNew(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.depth = depth
        for i in range(depth):
            setattr(self, f"weight_{i}", nn.Parameter(torch.randn(dim)))
            setattr(self, f"bias_{i}", nn.Parameter(torch.randn(dim)))

    def forward(self, x):
        rows, dim = x.shape
        for i in range(self.depth):
            y = torch.empty_like(x)
            scale_shift[(rows,)](
                x, getattr(self, f"weight_{i}"), getattr(self, f"bias_{i}"), y, rows, dim, triton.next_power_of_2(dim)
            )
            x = y
        return x
