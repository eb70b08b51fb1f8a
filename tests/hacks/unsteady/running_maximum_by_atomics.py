# task: own
# rule: mismatch
# device: cpu
# What an atomic maximum returns stands for all that lies before, in the order of the programs.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, m_ptr, o_ptr, n):
    i = tl.program_id(0)
    x = tl.load(x_ptr + i)
    tl.store(o_ptr + i, tl.maximum(x, tl.atomic_max(m_ptr, x)))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        m = torch.full((1,), -2147483648, device=x.device, dtype=torch.int32)
        k[(x.numel(),)](x, m, out, x.numel())
        return out
