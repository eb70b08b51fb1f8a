# task: own
# The last element of a row by a gather at a place that is there.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def minus_last_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    last = tl.gather(x, tl.zeros((BLOCK,), tl.int32) + n - 1, 0)
    tl.store(out_ptr + row * n + c, x - last, mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty(x.shape, device=x.device, dtype=x.dtype)
        minus_last_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return out
