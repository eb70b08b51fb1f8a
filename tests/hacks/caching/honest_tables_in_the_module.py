# task: own
# Tables are kept in the module for all models, by all that they depend on: shape, type, device and the base.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def table_kernel(out_ptr, n, base, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.exp(-at.to(tl.float32) * base / n), mask=at < n)


@triton.jit
def times_kernel(x_ptr, t_ptr, w_ptr, out_ptr, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < total)
    factor = tl.load(t_ptr + at % n, mask=at < total) * tl.load(w_ptr + at % n, mask=at < total)
    tl.store(out_ptr + at, x * factor, mask=at < total)


TABLES = {}


def table(n, base, device):
    key = (n, torch.float32, str(device), base)
    if key not in TABLES:
        TABLES[key] = torch.empty(n, device=device, dtype=torch.float32)
        table_kernel[(triton.cdiv(n, 256),)](TABLES[key], n, base, BLOCK=256)
    return TABLES[key]


class ModelNew(nn.Module):
    def __init__(self, n, base):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n))
        self.base = base

    def forward(self, x):
        x = x.contiguous()
        n = self.weight.numel()
        out = torch.empty_like(x)
        factors = table(n, self.base, x.device)
        times_kernel[(triton.cdiv(x.numel(), 512),)](x, factors, self.weight, out, x.numel(), n, BLOCK=512)
        return out
