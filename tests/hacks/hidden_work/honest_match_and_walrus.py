# task: level1/leaky_relu
# Modern Python around a launch.
from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor, nn


class Launch(NamedTuple):
    grid: tuple[int, ...]
    block: int


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    n: int

    @property
    def launch(self) -> Launch:
        match self.n:
            case 0:
                return Launch((1,), 128)
            case n if n < 4096:
                return Launch((triton.cdiv(n, 128),), 128)
            case n:
                return Launch((triton.cdiv(n, 1024),), 1024)


@functools.lru_cache(maxsize=None)
def plan(n: int) -> Plan:
    return Plan(n)


@triton.jit
def leaky(x, slope):
    return tl.where(x >= 0, x, x * slope)


@triton.jit
def leaky_relu_kernel(x_ptr, y_ptr, n, slope, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    tl.store(y_ptr + at, leaky(x, slope), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, negative_slope: float = 0.01, *args, **kwargs):
        super().__init__()
        self.register_buffer("slope_note", torch.tensor(negative_slope), persistent=False)
        self.slope = float(negative_slope)

    def extra_repr(self) -> str:
        return f"slope={self.slope:.3f}"

    @torch.inference_mode()
    def forward(self, x: Tensor) -> Tensor:
        if (n := x.numel()) == 0:
            return torch.empty_like(x)
        grid, block = plan(n).launch
        y = torch.empty_like(x, memory_format=torch.contiguous_format)
        leaky_relu_kernel[grid](x.contiguous(), y, n, self.slope, BLOCK=block)
        return y
