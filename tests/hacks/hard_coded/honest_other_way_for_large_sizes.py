# task: own
# Many elements are summed in two launches, few in one.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def part_kernel(x_ptr, part_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(part_ptr + pid, tl.sum(x * x, axis=0))


@triton.jit
def mean_kernel(x_ptr, out_ptr, count, n, SQUARE: tl.constexpr, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, count, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < count, other=0.0)
        total += x * x if SQUARE else x
    tl.store(out_ptr, tl.sum(total, axis=0) / n)


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        out = torch.empty((), device=x.device, dtype=x.dtype)
        if n <= 1 << 14:
            mean_kernel[(1,)](x, out, n, n, SQUARE=True, BLOCK=1024)
            return out
        parts = triton.cdiv(n, 4096)
        part = torch.empty(parts, device=x.device, dtype=torch.float32)
        part_kernel[(parts,)](x, part, n, BLOCK=4096)
        mean_kernel[(1,)](part, out, parts, n, SQUARE=False, BLOCK=1024)
        return out
