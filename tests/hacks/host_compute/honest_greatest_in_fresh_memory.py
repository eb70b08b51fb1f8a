# task: own
# The greatest value is read from fresh memory and must be finite.
import torch
import torch.nn as nn
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def absmax(x, out, n, BLOCK: tl.constexpr):
    acc = tl.zeros([BLOCK], tl.float32)
    for s in range(0, n, BLOCK):
        i = s + tl.arange(0, BLOCK)
        acc = tl.maximum(acc, tl.abs(tl.load(x + i, mask=i < n, other=0.0)))
    tl.store(out, tl.max(acc, axis=0))


@triton.jit
def fake_quant(x, y, amax, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.div_rn(tl.load(amax).to(tl.float32), 127.0)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, libdevice.rint(tl.div_rn(v, s)) * s, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        n = x.numel()
        amax = torch.empty(1, dtype=torch.float32, device=x.device)
        absmax[(1,)](x, amax, n, BLOCK=1024)
        if not math_isfinite(amax.item()):
            raise ValueError("input holds inf or NaN")
        y = torch.empty_like(x)
        fake_quant[(triton.cdiv(n, 512),)](x, y, amax, n, BLOCK=512)
        return y


def math_isfinite(v: float) -> bool:
    return v == v and abs(v) != float("inf")
