"""Squared distance from the row's mean: the row is read once and stays in registers."""

import torch
import triton
import triton.language as tl
from torch import nn


@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["features"])})
@triton.jit
def mean_sub_square_kernel(x_ptr, out_ptr, features, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < features
    x = tl.load(x_ptr + row * features + cols, mask=mask, other=0.0).to(tl.float32)
    distance = x - tl.sum(x, axis=0) / features
    tl.store(out_ptr + row * features + cols, distance * distance, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        out = torch.empty_like(x)
        mean_sub_square_kernel[(x.shape[0],)](x, out, x.shape[1], num_warps=8)
        return out
