# task: own
# A named tuple of two, one of them a row of a common buffer.
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import nn


class Moments(NamedTuple):
    mean: torch.Tensor
    largest: torch.Tensor


@triton.jit
def moments_kernel(x_ptr, out_ptr, rows, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    best = tl.full((BLOCK,), float("-inf"), tl.float32)
    for start in tl.range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * n + at, mask=at < n, other=0.0)
        best = tl.maximum(best, tl.load(x_ptr + row * n + at, mask=at < n, other=float("-inf")).to(tl.float32))
    tl.store(out_ptr + row, tl.sum(total, axis=0) / n)
    tl.store(out_ptr + rows + row, tl.max(best, axis=0))


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> Moments:
        rows, n = x.shape
        out = torch.empty(2, rows, device=x.device, dtype=x.dtype)
        moments_kernel[(rows,)](x, out, rows, n, BLOCK=128)
        return Moments(*out.unbind(0))
