# task: own
# rule: mismatch
# device: cpu
# Of several exchanges the last one stays, whichever that is.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(i_ptr, x_ptr, o_ptr, n):
    p = tl.program_id(0)
    tl.atomic_xchg(o_ptr + tl.load(i_ptr + p), tl.load(x_ptr + p))


class ModelNew(nn.Module):
    def forward(self, idx, x):
        idx, x = idx.contiguous(), x.contiguous()
        out = torch.zeros(16, dtype=x.dtype, device=x.device)
        k[(x.numel(),)](idx, x, out, x.numel())
        return out
