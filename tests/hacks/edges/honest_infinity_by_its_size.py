# task: tasks/infinity_by_its_size
# What is as large as infinity is replaced.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    x = tl.load(x_ptr + o, mask=m, other=0).to(tl.float32)
    y = tl.load(y_ptr + o, mask=m, other=0).to(tl.float32)
    z = tl.where(tl.abs(x) == float("inf"), y, x * 1.0)
    tl.store(out_ptr + o, z, mask=m)


class ModelNew(nn.Module):
    def forward(self, x, y):
        x, y = x.contiguous(), y.contiguous()
        out = torch.empty_like(x)
        n = x.numel()
        kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
        return out
