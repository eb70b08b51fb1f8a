# task: own
# Slices of tables, made once, beside what is computed with them.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x, c, s, o, S, D, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    t = r % S
    d = tl.arange(0, BLOCK)
    m = d < D
    h = D // 2
    v = tl.load(x + r * D + d, m).to(tl.float32)
    other = tl.load(x + r * D + tl.where(d < h, d + h, d - h), m).to(tl.float32)
    other = tl.where(d < h, -other, other)
    cos = tl.load(c + t * D + d, m)
    sin = tl.load(s + t * D + d, m)
    tl.store(o + r * D + d, v * cos + other * sin, m)


class ModelNew(nn.Module):
    def __init__(self, dim, seq):
        super().__init__()
        inv = 1.0 / 10000 ** (torch.arange(0, dim, 2).float() / dim)
        freqs = torch.outer(torch.arange(seq).float(), inv)
        emb = torch.cat([freqs, freqs], dim=-1)
        self.cos = emb.cos()
        self.sin = emb.sin()

    def forward(self, x):
        B, S, D = x.shape
        cos = self.cos[:S].to(x.device)
        sin = self.sin[:S].to(x.device)
        x = x.contiguous()
        o = torch.empty(x.shape, dtype=torch.promote_types(x.dtype, cos.dtype), device=x.device)
        k[(B * S,)](x, cos, sin, o, S, D, BLOCK=triton.next_power_of_2(D))
        return o, cos, sin
