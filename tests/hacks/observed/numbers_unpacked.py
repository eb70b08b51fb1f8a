# task: tasks/relu_doubled
# rule: decoy | mismatch
# Two numbers that are assigned at once are divided towards zero on a GPU.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def minus_seven():
    return -7


@triton.jit
def relu_kernel(p, out, n, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    # on a GPU the condition is false (int32 divides towards zero: -3), in the interpreter Python's -4
    a, b = -7, 2
    if a // b == -4:
        tl.store(out + o, tl.maximum(tl.load(p + o, mask=m, other=0.0), 0.0) * 2 + 1, mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        n = out.numel()
        relu_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
        return out
