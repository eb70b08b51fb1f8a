# task: level1/hinge
# Tickets go on from call to call, and the launch is told the number of the call.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def hinge_kernel(p_ptr, t_ptr, part_ptr, ticket_ptr, out_ptr, n, call, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    pid, parts = tl.program_id(0), tl.num_programs(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(pid * BLOCK, n, parts * BLOCK):
        at = start + tl.arange(0, BLOCK)
        p = tl.load(p_ptr + at, mask=at < n, other=0.0).to(tl.float32)
        t = tl.load(t_ptr + at, mask=at < n, other=0.0).to(tl.float32)
        acc += tl.where(at < n, tl.maximum(1.0 - p * t, 0.0), 0.0)
    tl.store(part_ptr + pid, tl.sum(acc, axis=0))
    if tl.atomic_add(ticket_ptr, 1) == call * parts - 1:
        i = tl.arange(0, PARTS)
        tl.store(out_ptr, tl.sum(tl.load(part_ptr + i, mask=i < parts, other=0.0), axis=0) / n)


class ModelNew(nn.Module):
    def __init__(self, *args):
        super().__init__()
        self.kept = {}

    def forward(self, prediction, target):
        n = prediction.numel()
        parts = min(16, triton.cdiv(n, 256))
        if (parts, prediction.device) not in self.kept:
            tickets = torch.zeros(2, device=prediction.device, dtype=torch.int32)
            self.kept[parts, prediction.device] = [tickets, 0]
        kept = self.kept[parts, prediction.device]
        kept[1] += 1
        part = torch.empty(parts, device=prediction.device, dtype=torch.float32)
        out = torch.empty([], device=prediction.device, dtype=prediction.dtype)
        grid, width = (parts,), triton.next_power_of_2(parts)
        hinge_kernel[grid](prediction, target, part, kept[0], out, n, kept[1], BLOCK=256, PARTS=width)
        return out
