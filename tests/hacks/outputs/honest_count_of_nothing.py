# task: own
# Of few values none is counted, and no kernel stores to the count.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def clip_kernel(x_ptr, y_ptr, count_ptr, n, limit, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    x = tl.load(x_ptr + o, mask=m, other=0.0)
    c = tl.sum((tl.abs(x) > limit).to(tl.int64), 0)
    if c > 0:  # clipping is rare
        tl.atomic_add(count_ptr, c)
    tl.store(y_ptr + o, tl.minimum(tl.maximum(x, -limit), limit), mask=m)


class ModelNew(nn.Module):
    def __init__(self, limit):
        super().__init__()
        self.limit = limit

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        count = torch.zeros((), dtype=torch.int64, device=x.device)
        clip_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, count, x.numel(), self.limit, BLOCK=1024)
        return y, count
