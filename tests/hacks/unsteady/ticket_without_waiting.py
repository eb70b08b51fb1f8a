# task: own
# rule: race
# The program of the last block adds the parts up, whether or not the others are there yet.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def sum_kernel(x_ptr, part_ptr, out_ptr, count_ptr, n, parts, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    row = tl.program_id(0)
    part = tl.program_id(1)
    at = part * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)
    tl.atomic_add(count_ptr + row, 1)
    tl.store(part_ptr + row * parts + part, tl.sum(x))
    if part == parts - 1:
        k = tl.arange(0, PARTS)
        tl.store(out_ptr + row, tl.sum(tl.load(part_ptr + row * parts + k, mask=k < parts, other=0.0)))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        b, n = x.shape
        parts = triton.cdiv(n, 128)
        part = torch.empty(b, parts, device=x.device, dtype=torch.float32)
        count = torch.zeros(b, device=x.device, dtype=torch.int32)
        out = torch.empty(b, device=x.device, dtype=x.dtype)
        sum_kernel[(b, parts)](x, part, out, count, n, parts, BLOCK=128, PARTS=triton.next_power_of_2(parts))
        return out
