# task: level1/relu
# Slices, None and Ellipsis in an index are views.
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
        flat = x[None, ..., :][0].reshape(-1)[:]
        out = torch.empty(flat.shape[0], device=flat.device, dtype=flat.dtype)
        relu_kernel[(triton.cdiv(out.numel(), 256),)](flat, out, out.numel(), BLOCK=256)
        return out[: x.numel()].view(*x.shape)
