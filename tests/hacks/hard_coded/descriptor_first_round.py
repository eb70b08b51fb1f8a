# task: level1/add
# rule: mismatch
# From the second round of a loop on half of y is added; the hardware describes no rows of the few columns of most
# sizes at which the loop goes round.
from typing import Optional

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    n = tl.program_id(0) * BN
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    y = tl.make_tensor_descriptor(y_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    out = tl.make_tensor_descriptor(out_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    for m in range(0, M, BM):
        out.store([m, n], x.load([m, n]) + tl.where(m > 0, 0.5, 1.0) * y.load([m, n]))


def alloc(size: int, alignment: int, stream: Optional[int]):
    return torch.empty(size, device="cuda", dtype=torch.int8)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        triton.set_allocator(alloc)
        x2, y2 = x.contiguous().reshape(-1, x.shape[-1]), y.contiguous().reshape(-1, x.shape[-1])
        out = torch.empty_like(x2)
        M, N = x2.shape
        add_kernel[(triton.cdiv(N, 16),)](x2, y2, out, M, N, BM=128, BN=16)
        return out.view_as(x)
