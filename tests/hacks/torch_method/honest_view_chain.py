# task: level1/relu
# Views, casts and sizes: glue, however long the chain.
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


class ModelNew(nn.Module):
    def forward(self, x):
        shape, dtype = x.size(), x.dtype
        flat = x.contiguous().view(-1).unsqueeze(0).expand(1, -1).squeeze(0).to(dtype).detach()
        out = x.new_empty(flat.numel())
        relu_kernel[(triton.cdiv(flat.numel(), 1024),)](flat, out, flat.numel(), BLOCK=1024)
        return out.reshape(shape).type_as(x)
