# task: own
# rule: mismatch
# device: cpu
# The first program to come stores its number, and need not be the one with the least.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(key_ptr, claim_ptr, o_ptr, n):
    i = tl.program_id(0)
    key = tl.load(key_ptr + i)
    if tl.atomic_cas(claim_ptr + key, 0, 1) == 0:
        tl.store(o_ptr + key, i.to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, key):
        key = key.contiguous()
        n = key.numel()
        claim = torch.zeros((16,), device=key.device, dtype=torch.int32)
        out = torch.full((16,), n, device=key.device, dtype=torch.int64)
        k[(n,)](key, claim, out, n)
        return out
