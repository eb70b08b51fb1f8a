# task: level1/mish
# Names that sound like others: storage, data, numpy_like, type, eval mode.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def softplus(x):
    return tl.where(x > 20.0, x, tl.log(1.0 + tl.exp(tl.minimum(x, 20.0))))


@triton.jit
def tanh(x):
    e = tl.exp(-2.0 * tl.abs(x))
    y = (1.0 - e) / (1.0 + e)
    return tl.where(x >= 0, y, -y)


@triton.jit
def mish_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + at, x * tanh(softplus(x)), mask=at < n)


class ModelNew(nn.Module):
    def __init__(self, inplace: bool = False):
        super().__init__()
        self.storage = {}
        self.inplace = inplace
        self.eval()

    def scratch(self, x):
        key = (tuple(x.shape), x.dtype, x.device)
        if self.storage.get(key) is None:
            self.storage[key] = torch.empty_like(x)
        return self.storage[key]

    def forward(self, x):
        x = x.data
        self.scratch(x)
        y = torch.empty_like(x)
        mish_kernel[(triton.cdiv(x.numel(), 512), 1, 1)](x, y, x.numel(), BLOCK=512)
        return y
