# task: level1/relu
# rule: argument | launch-time
# A grid function that changes the kernel's arguments.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, flag, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    if flag > 0:
        x = tl.where(x < 0, 0.0, x)
    tl.store(out_ptr + offsets, x, mask=mask)


def grid(meta):
    if isinstance(meta["n"], tl.tensor):
        meta["flag"] = meta["n"]
    return (1 + 100,)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        relu_kernel[grid](x, out, x.numel(), 0, BLOCK=1024)
        return out
