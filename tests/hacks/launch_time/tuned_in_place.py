# task: own
# rule: mismatch
# device: cpu
# Measuring changes the argument in place, many times.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.autotune(configs=[triton.Config({"B": 256}), triton.Config({"B": 512})], key=["n"])
@triton.jit
def k(x_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(x_ptr + i, x * 2.0 + 1.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        out = x.contiguous().clone()
        k[lambda m: (triton.cdiv(out.numel(), m["B"]),)](out, out.numel())
        return out
