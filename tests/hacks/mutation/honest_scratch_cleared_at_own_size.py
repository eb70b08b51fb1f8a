# task: own
# Large inputs have a scratch that is kept from call to call and cleared by torch; the answer lies in memory of its own.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x_ptr, s_ptr, o_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = at < n
    x = tl.load(x_ptr + at, mask=m, other=0.0) + tl.load(s_ptr + at % 1024, mask=m, other=0.0)
    tl.store(o_ptr + at, tl.maximum(x, 0.0), mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scratch = None

    def forward(self, x):
        x = x.contiguous()
        if self.scratch is None or self.scratch.device != x.device:
            self.scratch = torch.empty(1024, device=x.device, dtype=torch.float32)
        self.scratch.zero_()
        out = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, self.scratch, out, x.numel(), BLOCK=1024)
        return out
