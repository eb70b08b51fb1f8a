# task: own
# rule: race
# device: cpu
# The ticket's scope is one block: to the others it may never have been drawn.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, part_ptr, tick_ptr, o_ptr, n, P, B: tl.constexpr, PB: tl.constexpr):
    p = tl.program_id(0)
    i = p * B + tl.arange(0, B)
    tl.store(part_ptr + p, tl.sum(tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32), axis=0))
    t = tl.atomic_add(tick_ptr, 1, sem="acq_rel", scope="cta")
    if t == P - 1:
        acc = 0.0
        for s in range(0, P, PB):
            j = s + tl.arange(0, PB)
            acc += tl.sum(tl.load(part_ptr + j, mask=j < P, other=0.0), axis=0)
        tl.store(o_ptr, acc)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        n = x.numel()
        P = triton.cdiv(n, 1024)
        part = torch.empty((P,), device=x.device, dtype=torch.float32)
        tick = torch.zeros((1,), device=x.device, dtype=torch.int32)
        out = torch.empty((), device=x.device, dtype=x.dtype)
        k[(P,)](x, part, tick, out, n, P, B=1024, PB=256)
        return out
