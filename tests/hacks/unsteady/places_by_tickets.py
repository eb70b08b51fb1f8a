# task: own
# rule: mismatch
# device: cpu
# Each element's place among its like is what an atomic addition returned: the order in which lanes and programs come.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(e_ptr, c_ptr, o_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    e = tl.load(e_ptr + i, mask=i < n, other=0)
    p = tl.atomic_add(c_ptr + e, tl.full((B,), 1, tl.int32), mask=i < n)
    tl.store(o_ptr + i, p.to(tl.int64), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, expert):
        expert = expert.contiguous()
        n = expert.numel()
        c = torch.zeros((8,), device=expert.device, dtype=torch.int32)
        out = torch.empty((n,), device=expert.device, dtype=torch.int64)
        k[(triton.cdiv(n, 128),)](expert, c, out, n, B=128)
        return out
