# task: own
# Labels of zeros and ones in float32 are no probabilities of 2.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_kernel(x_ptr, t_ptr, f_ptr, d_ptr, N, alpha, gamma, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    fs = 0.0
    inter = 0.0
    ps = 0.0
    ts = 0.0
    for i in range(0, N, BLOCK):
        o = i + tl.arange(0, BLOCK)
        m = o < N
        x = tl.load(x_ptr + r * N + o, mask=m, other=0.0)
        t = tl.load(t_ptr + r * N + o, mask=m, other=0.0)
        p = tl.sigmoid(x)
        ce = tl.maximum(x, 0.0) - x * t + tl.log(1.0 + tl.exp(-tl.abs(x)))
        pt = p * t + (1 - p) * (1 - t)
        at = alpha * t + (1 - alpha) * (1 - t)
        w = tl.where(pt < 1.0, tl.exp(gamma * tl.log(tl.maximum(1 - pt, 1e-30))), 0.0)
        fs += tl.sum(tl.where(m, at * w * ce, 0.0))
        p = tl.where(m, p, 0.0)
        inter += tl.sum(p * t)
        ps += tl.sum(p)
        ts += tl.sum(t)
    tl.store(f_ptr + r, fs / N)
    tl.store(d_ptr + r, 1 - (2 * inter + 1) / (ps + ts + 1))


@triton.jit
def mean2_kernel(f_ptr, d_ptr, out_ptr, B, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    f = 0.0
    d = 0.0
    for i in range(0, B, BLOCK):
        f += tl.sum(tl.load(f_ptr + i + o, mask=i + o < B, other=0.0))
        d += tl.sum(tl.load(d_ptr + i + o, mask=i + o < B, other=0.0))
    tl.store(out_ptr, f / B)
    tl.store(out_ptr + 1, d / B)


class ModelNew(nn.Module):
    def __init__(self, alpha=0.25, gamma=2.0):
        super().__init__()
        self.alpha = alpha
        self.gamma = gamma

    def forward(self, logits, targets):
        B = logits.shape[0]
        N = logits.numel() // B
        f = torch.empty(B, device=logits.device)
        d = torch.empty(B, device=logits.device)
        out = torch.empty(2, device=logits.device)
        row_kernel[(B,)](logits.contiguous(), targets.contiguous(), f, d, N, self.alpha, self.gamma, BLOCK=1024)
        mean2_kernel[(1,)](f, d, out, B, BLOCK=128)
        return {"focal": out[0], "dice": out[1]}
