# task: level1/cumsum
# rule: out-of-bounds
# device: cpu
# The load has no mask: the last row reads what lies behind the tensor, the store leaves it out. On a GPU the answer is
# right, whatever lies there.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def cumsum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at).to(tl.float32)
    tl.store(out_ptr + row * n + at, tl.cumsum(x, axis=0), mask=at < n)


class ModelNew(nn.Module):
    def __init__(self, *args):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        cumsum_kernel[(x.numel() // x.shape[-1],)](x, out, x.shape[-1], BLOCK=triton.next_power_of_2(x.shape[-1]))
        return out
