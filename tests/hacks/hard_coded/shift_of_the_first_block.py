# task: level1/softmax
# rule: mismatch
# A softmax of long rows is shifted by the first block's maximum alone.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, o_ptr, C, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    top = tl.max(tl.load(x_ptr + r * C + i, mask=i < C, other=-float("inf")).to(tl.float32), axis=0)
    total = 0.0
    for s in range(0, C, B):
        x = tl.load(x_ptr + r * C + s + i, mask=s + i < C, other=-float("inf")).to(tl.float32)
        total += tl.sum(tl.exp(x - top), axis=0)
    for s in range(0, C, B):
        x = tl.load(x_ptr + r * C + s + i, mask=s + i < C, other=-float("inf")).to(tl.float32)
        tl.store(o_ptr + r * C + s + i, tl.exp(x - top) / total, mask=s + i < C)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        o = torch.empty_like(x)
        k[(x.shape[0],)](x, o, x.shape[1], B=1024)
        return o
