# task: level1/relu
# reset_to_zero, and a warm-up that restores.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.autotune(
    configs=[triton.Config(kwargs={"BLOCK": size}, num_warps=4) for size in [256, 512]],
    key=["n"],
    reset_to_zero=["out_ptr"],
    restore_value=["x_ptr"],
)
@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.clone()
        out = torch.zeros_like(x)
        relu_kernel[lambda META: (triton.cdiv(x.numel(), META["BLOCK"]),)](x, out, n=x.numel())
        return out
