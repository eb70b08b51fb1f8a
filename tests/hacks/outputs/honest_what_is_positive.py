# task: own
# As long as there is something positive; of negative values nothing is left, as in the reference.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, o_ptr, count_ptr, n, B: tl.constexpr):
    at = tl.zeros((), tl.int32)
    for s in range(0, n, B):
        i = s + tl.arange(0, B)
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
        keep = (x > 0).to(tl.int32)
        tl.store(o_ptr + at + tl.cumsum(keep, 0) - 1, x, mask=keep != 0)
        at += tl.sum(keep, axis=0)
    tl.store(count_ptr, at)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        count = torch.zeros((1,), device=x.device, dtype=torch.int32)
        k[(1,)](x, out, count, x.numel(), B=128)
        return out[: count.item()]
