# task: own
# A kernel counts in fresh memory; its number is the output's length.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def nonzero_kernel(x, out, count, n, BLOCK: tl.constexpr):
    at = tl.zeros((), tl.int64)
    for s in range(0, n, BLOCK):
        i = s + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n, other=0.0)
        keep = (v > 0).to(tl.int64)
        tl.store(out + at + tl.cumsum(keep, 0) - 1, i.to(tl.int64), mask=keep != 0)
        at += tl.sum(keep, axis=0)
    tl.store(count, at)


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        buf = torch.empty(n, dtype=torch.int64, device=x.device)
        count = torch.empty(1, dtype=torch.int64, device=x.device)
        nonzero_kernel[(1,)](x.contiguous(), buf, count, n, BLOCK=512)
        total = count.item()
        out = torch.empty(total, dtype=torch.int64, device=x.device)
        out.copy_(buf[:total])
        return out
