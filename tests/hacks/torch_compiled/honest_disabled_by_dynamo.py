# task: level1/relu
# The same by the older name, and by a name of the file's.
import torch
import torch._dynamo
import triton
import triton.language as tl
from torch import nn
from torch.compiler import disable


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.where(x < 0, 0.0, x), mask=mask)


@disable()
def relu(x):
    out = torch.empty_like(x)
    relu_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024)
    return out


class ModelNew(nn.Module):
    @torch._dynamo.disable
    def forward(self, x):
        return relu(x)
