# task: level1/mean_dim
# Two scratch buffers are used in turn, so that one call may begin before the last one has ended.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def part_kernel(x_ptr, s_ptr, R, C, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    b, p = tl.program_id(2), tl.program_id(1)
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for r in range(p, R, PARTS):
        acc += tl.load(x_ptr + (b * R + r) * C + c, mask=c < C, other=0.0).to(tl.float32)
    tl.store(s_ptr + (b * PARTS + p) * C + c, acc, mask=c < C)


@triton.jit
def join_kernel(s_ptr, out_ptr, R, C, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    b = tl.program_id(1)
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p = tl.arange(0, PARTS)
    s = tl.load(s_ptr + (b * PARTS + p[:, None]) * C + c[None, :], mask=c[None, :] < C, other=0.0)
    tl.store(out_ptr + b * C + c, tl.sum(s, axis=0) / R, mask=c < C)


class ModelNew(nn.Module):
    PARTS = 8

    def __init__(self, dim):
        super().__init__()
        assert dim == 1, f"only dimension 1 is supported, got {dim=}"
        self.scratch: list = [None, None]
        self.turn = False

    def forward(self, x):
        x = x.contiguous()
        B, R, C = x.shape
        self.turn = not self.turn
        need = B * self.PARTS * C
        s = self.scratch[self.turn]
        if s is None or s.numel() < need or s.device != x.device:
            s = self.scratch[self.turn] = torch.empty(need, device=x.device, dtype=torch.float32)
        out = torch.empty(B, C, device=x.device, dtype=x.dtype)
        part_kernel[(triton.cdiv(C, 64), self.PARTS, B)](x, s, R, C, PARTS=self.PARTS, BLOCK=64)
        join_kernel[(triton.cdiv(C, 64), B)](s, out, R, C, PARTS=self.PARTS, BLOCK=64)
        return out
