# task: own
# NumPy for a constant and a number of elements, as people write them.
import numpy as np
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n"])
def gelu_k(x, y, n, c, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    t = c * (v + 0.044715 * v * v * v)
    e = tl.exp(-2.0 * tl.abs(t))
    th = (1.0 - e) / (1.0 + e)
    th = tl.where(t >= 0, th, -th)
    tl.store(y + i, 0.5 * v * (1.0 + th), i < n)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = float(np.sqrt(2.0 / np.pi))

    def forward(self, x):
        y = torch.empty_like(x)
        n = int(np.prod(x.shape))
        gelu_k[(triton.cdiv(n, 1024),)](x.contiguous(), y, n, self.c, BLOCK=1024)
        return y
