# task: level1/relu
# A generator of slices; each is a launch into its part of the output.
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


def tiles(n, size):
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows = x.shape[0]
        out = torch.empty_like(x)
        for tile in tiles(rows, -(-rows // 2)):
            part, result = x[tile], out[tile]
            relu_kernel[(triton.cdiv(part.numel(), 1024),)](part, result, part.numel(), BLOCK=1024)
        return out
