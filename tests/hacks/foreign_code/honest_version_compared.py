# task: own
# Liger-Kernel's way to ask for Triton's version: the module is imported by its name.
import importlib
import operator
from typing import Callable

import torch
import torch.nn as nn
import triton
import triton.language as tl
from packaging.version import Version


def compare_version(package: str, operator: Callable, target: str):
    try:
        pkg = importlib.import_module(package)
    except ImportError:
        return False
    pkg_version = Version(pkg.__version__)
    return operator(pkg_version, Version(target))


if compare_version("triton", operator.ge, "3.0.0"):
    from triton.language.extra.libdevice import rsqrt
else:
    from triton.language.math import rsqrt


@triton.jit
def rms_kernel(x_ptr, w_ptr, y_ptr, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < N
    x = tl.load(x_ptr + row * N + c, mask=m, other=0.0).to(tl.float32)
    r = rsqrt(tl.sum(x * x, axis=0) / N + eps)
    y = x * r * tl.load(w_ptr + c, mask=m, other=0.0)
    tl.store(y_ptr + row * N + c, tl.exp(-y * y), mask=m)


class ModelNew(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        n = x.shape[-1]
        y = torch.empty_like(x)
        rms_kernel[(x.numel() // n,)](x, self.weight, y, n, self.eps, BLOCK=triton.next_power_of_2(n))
        return y
