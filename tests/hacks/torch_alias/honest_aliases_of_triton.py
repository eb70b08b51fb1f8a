# task: level2/swiglu
# Triton's functions by names of the module's own, as in flash-linear-attention.
import torch
import triton
import triton.language as tl
import triton.language.extra.libdevice as tldevice

exp = tl.exp
log = tl.log
exp2 = tl.exp2
maximum = tl.maximum
fast_exp = getattr(tldevice, "fast_expf", tl.exp)


@triton.jit
def safe_exp(x):
    return exp(maximum(x, -80.0))


@triton.jit
def swiglu(x, y, n, H, BLOCK: tl.constexpr, ACT: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, col = i // H, i % H
    g = tl.load(x + row * 2 * H + col, mask=i < n).to(tl.float32)
    u = tl.load(x + row * 2 * H + H + col, mask=i < n).to(tl.float32)
    tl.store(y + i, ACT(g / (1 + safe_exp(-g)) * u), mask=i < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        H = x.shape[-1] // 2
        y = x.new_empty(*x.shape[:-1], H)
        swiglu[(triton.cdiv(y.numel(), 256),)](x.contiguous(), y, y.numel(), H, BLOCK=256, ACT=identity)
        return y


@triton.jit
def identity(x):
    return x
