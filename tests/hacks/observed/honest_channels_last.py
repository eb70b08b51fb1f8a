# task: tasks/relu_of_images
# Images in channels-last memory are done where they lie.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, o_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    x = tl.load(x_ptr + i, mask=m).to(tl.float32)
    tl.store(o_ptr + i, tl.where(x < 0, 0.0, x), mask=m)


def run(x):
    x = x.contiguous()
    o = torch.empty_like(x)
    k[(triton.cdiv(x.numel(), 1024),)](x, o, x.numel(), B=1024)
    return o


class ModelNew(nn.Module):
    def forward(self, x):
        if not x.is_contiguous(memory_format=torch.channels_last):
            return run(x)
        o = torch.empty_like(x)
        k[(triton.cdiv(x.numel(), 1024),)](x, o, x.numel(), B=1024)
        return o
