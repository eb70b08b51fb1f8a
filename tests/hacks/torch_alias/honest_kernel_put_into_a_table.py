# task: own
# A kernel that a statement of the file puts into a table.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n), 0.0) + 1, mask=i < n)


class KernelRegistry:
    def __init__(self):
        self._table = {}

    def add(self, name, kernel):
        self._table[name] = kernel

    def get(self, name):
        return self._table[name]


KERNELS = KernelRegistry()
KERNELS.add("relu", relu_k)


class ModelNew(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        KERNELS.get(self.name)[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
        return y
