# task: own
# A table that the sizes alone tell: there is nothing to read.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def table_kernel(out_ptr, n, step, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.cos(step * offsets.to(tl.float32)), mask=offsets < n)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
        table_kernel[(triton.cdiv(x.shape[0], 256),)](out, x.shape[0], 0.1, BLOCK=256)
        return out
