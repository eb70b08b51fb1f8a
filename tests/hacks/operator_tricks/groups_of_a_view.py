# task: own
# rule: mismatch
# device: cpu
# A view may reorder, so groups of neighbours are none.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, o_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    y = tl.sum(tl.view(x, (B // 4, 4)), axis=1)
    j = tl.program_id(0) * (B // 4) + tl.arange(0, B // 4)
    tl.store(o_ptr + j, y, mask=j < n // 4)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty((x.shape[0], x.shape[1] // 4), device=x.device, dtype=x.dtype)
        k[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), B=1024)
        return out
