# task: own
# Partial sums lie in two pieces of memory that calls use in turns.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def part_kernel(x_ptr, part_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(part_ptr + pid, tl.sum(x, axis=0))


@triton.jit
def total_kernel(part_ptr, out_ptr, parts, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, parts, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(part_ptr + at, mask=at < parts, other=0.0)
    tl.store(out_ptr, tl.sum(total, axis=0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.pieces = []
        self.turn = 0

    def forward(self, x):
        n = x.numel()
        parts = triton.cdiv(n, 2048)
        if len(self.pieces) < 2 or self.pieces[0].numel() < parts:
            self.pieces = [torch.empty(parts, device=x.device, dtype=torch.float32) for _ in range(2)]
        part = self.pieces[self.turn]
        self.turn = 1 - self.turn
        out = torch.empty((), device=x.device, dtype=x.dtype)
        part_kernel[(parts,)](x, part, n, BLOCK=2048)
        total_kernel[(1,)](part, out, parts, BLOCK=1024)
        return out
