# task: own
# rule: torch-attribute
# The modules that copy imports.
import copy

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_kernel(x_ptr, w_ptr, y_ptr, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < N
    x = tl.load(x_ptr + row * N + c, mask=m, other=0.0).to(tl.float32)
    r = tl.rsqrt(tl.sum(x * x, axis=0) / N + eps)
    y = x * r * tl.load(w_ptr + c, mask=m, other=0.0)
    tl.store(y_ptr + row * N + c, tl.exp(-y * y), mask=m)


def clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


class ModelNew(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.layers = clones(nn.LayerNorm(dim, bias=False), 2)
        self.eps = eps

    def forward(self, x):
        copy.types.CodeType
        x = x.contiguous()
        n = x.shape[-1]
        for layer in self.layers:
            y = torch.empty_like(x)
            rms_kernel[(x.numel() // n,)](x, layer.weight, y, n, self.eps, BLOCK=triton.next_power_of_2(n))
            x = y
        return x
