# task: own
# The reference hands on a table that is no buffer of its; so does the candidate.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, t_ptr, o_ptr, n, d, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x = tl.load(x_ptr + i, mask=m)
    t = tl.load(t_ptr + i % d, mask=m)
    tl.store(o_ptr + i, x * t, mask=m)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.table = torch.arange(dim).float().sin()

    def forward(self, x):
        x = x.contiguous()
        table = self.table.to(x.device)
        out = torch.empty_like(x, dtype=torch.promote_types(x.dtype, table.dtype))
        n = x.numel()
        k[(triton.cdiv(n, 512),)](x, table, out, n, x.shape[-1], BLOCK=512)
        return out, table
