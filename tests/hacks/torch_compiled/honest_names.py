# task: level1/relu
# A kernel, a helper and a setting that have `compile` and `jit` in their names.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def jit_compiled_relu(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=mask)


COMPILE_BLOCK = 256


def precompiled_options(n):
    return {"BLOCK": COMPILE_BLOCK, "num_warps": 8 if n > 4096 else 4}


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        n = x.numel()
        jit_compiled_relu[(triton.cdiv(n, COMPILE_BLOCK),)](x, out, n, **precompiled_options(n))
        return out
