# task: own
# Fast functions of angles within a turn, none of them near zero: there the fast sine has no digit left.
import torch
import triton
import triton.language as tl
from torch import nn
from triton.language.extra.cuda import libdevice


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    o = pid * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    x = tl.load(x_ptr + o, mask=m).to(tl.float32)
    tl.store(out_ptr + o, libdevice.fast_sinf(libdevice.fast_expf(-x * x / (1.0 + x * x))) * 2.0, mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        n = x.numel()
        kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
        return out
