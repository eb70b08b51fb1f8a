# task: level1/tanh
# Imports that work over many versions of Triton; the last one is of a module that is gone.
import torch
import triton
import triton.language as tl

try:
    from triton.language.extra import libdevice

    tanh = libdevice.tanh
except ImportError:
    try:
        from triton.language.math import tanh
    except ImportError:
        from triton.language.libdevice import tanh


@triton.jit
def tanh_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n).to(tl.float32)
    tl.store(y_ptr + i, tanh(x), mask=i < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        n = x.numel()
        tanh_kernel[(triton.cdiv(n, 512),)](x, y, n, BLOCK=512)
        return y
