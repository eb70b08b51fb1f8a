# task: level1/relu
# In place on a copy, which the tuner restores after each run.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.autotune(
    configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 512})], key=["n"], restore_value=["x_ptr"]
)
@triton.jit
def relu_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, tl.where(x < 0, 0.0, x), mask=offsets < n)


class ModelNew(nn.Module):
    def forward(self, x):
        out = x.clone(memory_format=torch.contiguous_format)
        relu_kernel[lambda meta: (triton.cdiv(out.numel(), meta["BLOCK"]),)](out, out.numel())
        return out
