# task: own
# Temperatures, positive by their making, are not tried negative.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sample_kernel(logits, temp, u_ptr, out, V, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    t = tl.load(temp + b)
    u = tl.load(u_ptr + b)
    base = logits + b * V
    m = -float("inf")
    s = 0.0
    for i in range(0, V, BLOCK):
        o = i + tl.arange(0, BLOCK)
        x = tl.load(base + o, mask=o < V, other=-float("inf")) / t
        nm = tl.maximum(m, tl.max(x, 0))
        s = s * tl.exp(m - nm) + tl.sum(tl.exp(x - nm), 0)
        m = nm
    carry = 0.0
    cnt = 0
    for i in range(0, V, BLOCK):
        o = i + tl.arange(0, BLOCK)
        x = tl.load(base + o, mask=o < V, other=-float("inf")) / t
        p = tl.exp(x - m) / s
        c = carry + tl.cumsum(p, 0)
        cnt += tl.sum(((c < u) & (o < V)).to(tl.int32), 0)
        carry += tl.sum(p, 0)
    tl.store(out + b, tl.minimum(cnt, V - 1))


class ModelNew(nn.Module):
    def forward(self, logits, temperature, u):
        B, V = logits.shape
        out = torch.empty(B, dtype=torch.int64, device=logits.device)
        sample_kernel[(B,)](logits.contiguous(), temperature, u, out, V, BLOCK=1024)
        return out
