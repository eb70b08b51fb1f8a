# task: level1/relu
# A NamedTuple and a frozen dataclass carry tensors and settings; isinstance asks for torch.Tensor.
from dataclasses import dataclass
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=mask)


class Buffers(NamedTuple):
    source: torch.Tensor
    target: torch.Tensor


@dataclass(frozen=True)
class Settings:
    block: int = 1024
    warps: int = 4

    def grid(self, n: int) -> tuple[int]:
        return (triton.cdiv(n, self.block),)


class ModelNew(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.settings = Settings(block=512)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert isinstance(x, torch.Tensor) and x.is_floating_point(), "a float tensor is wanted"
        s, x = self.settings, x.contiguous()
        buffers = Buffers(x, torch.empty_like(x))
        n = buffers.source.numel()
        relu_kernel[s.grid(n)](*buffers, n, BLOCK=s.block, num_warps=s.warps)
        return buffers.target
