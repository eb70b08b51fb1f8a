# task: own
# rule: torch-compute
# A cast to bool compares with zero.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + row, tl.sum(tl.load(x_ptr + row * n + at, mask=at < n, other=0.0), axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        ones = x.bool().to(x.dtype)
        out = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
        sum_kernel[(x.shape[0],)](ones, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return out
