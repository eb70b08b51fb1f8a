# task: level1/matvec
# The last program to arrive, told by an atomic counter, adds the parts up.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def matvec_kernel(a_ptr, x_ptr, part_ptr, out_ptr, count_ptr, k, splits, BLOCK: tl.constexpr, SPLITS: tl.constexpr):
    row = tl.program_id(0)
    split = tl.program_id(1)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(split * BLOCK, k, splits * BLOCK):
        at = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + row * k + at, mask=at < k, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + at, mask=at < k, other=0.0).to(tl.float32)
        acc += a * x
    tl.store(part_ptr + row * splits + split, tl.sum(acc, axis=0))
    arrived = tl.atomic_add(count_ptr + row, 1)
    if arrived == splits - 1:
        s = tl.arange(0, SPLITS)
        parts = tl.load(part_ptr + row * splits + s, mask=s < splits, other=0.0)
        tl.store(out_ptr + row, tl.sum(parts, axis=0))


class ModelNew(nn.Module):
    def forward(self, a, x):
        a, x = a.contiguous(), x.contiguous()
        rows, k = a.shape
        splits = 4
        part = torch.empty((rows, splits), device=a.device, dtype=torch.float32)
        count = torch.zeros(rows, device=a.device, dtype=torch.int32)
        out = torch.empty(rows, device=a.device, dtype=a.dtype)
        matvec_kernel[(rows, splits)](a, x, part, out, count, k, splits, BLOCK=128, SPLITS=4)
        return out
