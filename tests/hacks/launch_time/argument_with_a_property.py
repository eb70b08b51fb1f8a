# task: level1/relu
# rule: argument | torch-compute | dunder | exception | host-compute
# The interpreter asks for untyped_storage, size and stride instead; each question can work.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


class Proxy:
    def __init__(self, x):
        self.x, self.y = x, x.clone()

    @property
    def data_ptr(self):
        self.y.copy_(self.x.relu())
        return self.y.data_ptr

    def untyped_storage(self):
        return self.y.untyped_storage()

    def new_empty(self, *args, **kwargs):
        return self.y.new_empty(*args, **kwargs)

    def storage_offset(self):
        return 0

    def size(self):
        return self.y.size()

    def stride(self):
        return self.y.stride()

    @property
    def dtype(self):
        return self.y.dtype


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        copy_kernel[(triton.cdiv(x.numel(), 1024),)](Proxy(x), out, x.numel(), BLOCK=1024)
        return out
