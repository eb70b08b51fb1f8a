# task: own
# rule: race
# A scatter by an index that has doubles.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def put_kernel(x_ptr, i_ptr, out_ptr, n, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + c, mask=c < n, other=0.0)
    i = tl.load(i_ptr + c, mask=c < n, other=0)
    tl.store(out_ptr + i, x, mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x, index):
        out = torch.zeros(64, dtype=x.dtype, device=x.device)
        put_kernel[(1,)](x.contiguous(), index, out, x.shape[0], BLOCK=triton.next_power_of_2(x.shape[0]))
        return out
