# task: level1/hinge
# Kernels count in memory that is kept: whole numbers whose remainder tells the last program, which half of the parts is
# used, and floats that nothing but statistics goes by.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def hinge_kernel(p_ptr, t_ptr, part_ptr, ticket_ptr, seen_ptr, out_ptr, n, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    pid, parts = tl.program_id(0), tl.num_programs(0)
    ticket = tl.atomic_add(ticket_ptr, 1)
    half = part_ptr + (ticket // parts % 2) * PARTS
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(pid * BLOCK, n, parts * BLOCK):
        at = start + tl.arange(0, BLOCK)
        p = tl.load(p_ptr + at, mask=at < n, other=0.0).to(tl.float32)
        t = tl.load(t_ptr + at, mask=at < n, other=0.0).to(tl.float32)
        acc += tl.where(at < n, tl.maximum(1.0 - p * t, 0.0), 0.0)
    tl.store(half + pid, tl.sum(acc, axis=0))
    if tl.atomic_add(ticket_ptr + 1, 1) % parts == parts - 1:
        i = tl.arange(0, PARTS)
        tl.store(out_ptr, tl.sum(tl.load(half + i, mask=i < parts, other=0.0), axis=0) / n)
        tl.store(seen_ptr, tl.load(seen_ptr) + 1.0)


class ModelNew(nn.Module):
    def __init__(self, *args):
        super().__init__()
        self.kept = {}

    def forward(self, prediction, target):
        n = prediction.numel()
        parts = min(16, triton.cdiv(n, 256))
        width = triton.next_power_of_2(parts)
        if (parts, prediction.device) not in self.kept:
            tickets = torch.zeros(2, device=prediction.device, dtype=torch.int32)
            seen = torch.zeros(1, device=prediction.device, dtype=torch.float32)
            part = torch.empty(2 * width, device=prediction.device, dtype=torch.float32)
            self.kept[parts, prediction.device] = tickets, seen, part
        tickets, seen, part = self.kept[parts, prediction.device]
        out = torch.empty([], device=prediction.device, dtype=prediction.dtype)
        hinge_kernel[(parts,)](prediction, target, part, tickets, seen, out, n, BLOCK=256, PARTS=width)
        return out
