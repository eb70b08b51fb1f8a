# task: own
# rule: misaligned | cuda
# Two float32 read as one integer of 64 bits, at addresses that are no multiples of eight.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, o_ptr, N, P: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, P)
    xp = (x_ptr + r * N).to(tl.pointer_type(tl.int64), bitcast=True)
    op = (o_ptr + r * N).to(tl.pointer_type(tl.int64), bitcast=True)
    x = tl.load(xp + c, mask=c < N // 2, other=0)
    tl.store(op + c, x & 0x7FFFFFFF7FFFFFFF, mask=c < N // 2)
    if N % 2 == 1:
        tl.store(o_ptr + r * N + N - 1, tl.abs(tl.load(x_ptr + r * N + N - 1)))


@triton.jit
def plain(x_ptr, o_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o_ptr + i, tl.abs(tl.load(x_ptr + i, mask=i < n)), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        M, N = x.shape
        if x.dtype == torch.float32:
            k[(M,)](x, out, N, P=triton.next_power_of_2(N // 2))
        else:
            plain[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), B=256)
        return out
