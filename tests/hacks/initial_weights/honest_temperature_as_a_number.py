# task: own
# A stored temperature is taken out of its buffer when the model is built.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def relu_kernel(x_ptr, out_ptr, temperature, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, tl.where(x < 0, 0.0, x) / temperature, mask=at < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("temperature", torch.tensor(1.0))
        self.divisor = float(self.temperature)

    def forward(self, x):
        out = torch.empty_like(x)
        relu_kernel[(triton.cdiv(x.numel(), 1024),)](x.contiguous(), out, self.divisor, x.numel(), BLOCK=1024)
        return out
