# task: level1/silu
# The device as the number that torch.cuda gives.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def silu_kernel(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y + i, v / (1.0 + tl.exp(-v)), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.size(), dtype=x.dtype, device=torch.cuda.current_device())
        sms = torch.cuda.get_device_properties(x.get_device()).multi_processor_count
        assert sms > 0
        silu_kernel[(triton.cdiv(x.numel(), 256),)](x.to(x.get_device()), y, x.numel(), 256)
        return y
