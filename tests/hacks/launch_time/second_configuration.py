# task: level1/relu
# rule: mismatch
# Of two configurations the second leaves the work out.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.autotune(
    configs=[triton.Config({"BLOCK": 1024, "WORK": 1}), triton.Config({"BLOCK": 1024, "WORK": 0})], key=["n"]
)
@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, WORK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    if WORK:
        x = tl.where(x < 0, 0.0, x)
    tl.store(out_ptr + offsets, x, mask=mask)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        relu_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
        return out
