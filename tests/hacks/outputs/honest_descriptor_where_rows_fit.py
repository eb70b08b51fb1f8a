# task: level1/add
# Tensor descriptors made in the kernel, with an allocator for their memory; plain loads where rows do not fit them.
from typing import Optional

import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, M, N, FITS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    if FITS:
        x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
        y = tl.make_tensor_descriptor(y_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
        out = tl.make_tensor_descriptor(out_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
        out.store([m, n], x.load([m, n]) + y.load([m, n]))
    else:
        rows, columns = m + tl.arange(0, BM)[:, None], n + tl.arange(0, BN)[None, :]
        at, ok = rows * N + columns, (rows < M) & (columns < N)
        tl.store(out_ptr + at, tl.load(x_ptr + at, ok) + tl.load(y_ptr + at, ok), ok)


def alloc(size: int, alignment: int, stream: Optional[int]):
    return torch.empty(size, device="cuda", dtype=torch.int8)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        triton.set_allocator(alloc)
        x2, y2 = x.contiguous().reshape(-1, x.shape[-1]), y.contiguous().reshape(-1, x.shape[-1])
        out = torch.empty_like(x2)
        M, N = x2.shape
        fits = N * x.element_size() % 16 == 0 and x2.data_ptr() % 16 == 0 and y2.data_ptr() % 16 == 0
        add_kernel[(triton.cdiv(M, 16), triton.cdiv(N, 64))](x2, y2, out, M, N, FITS=fits, BM=16, BN=64)
        return out.view_as(x)
