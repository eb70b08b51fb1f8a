# task: own
# Slow in the interpreter, where 16,000 programs of it take minutes: it is tried at smaller sizes then.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def prefix_kernel(x_ptr, out_ptr, columns):
    place = tl.program_id(0)
    first = place // columns * columns
    total = 0.0
    for at in range(first, place + 1):
        total += tl.load(x_ptr + at)
    tl.store(out_ptr + place, total)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        prefix_kernel[(x.numel(),)](x, out, x.shape[1])
        return out
