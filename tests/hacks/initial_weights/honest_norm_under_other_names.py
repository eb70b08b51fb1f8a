# task: own
# The weights have other names than the reference's.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def norm_kernel(x_ptr, w_ptr, b_ptr, out_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    ok = c < cols
    x = tl.load(x_ptr + row * cols + c, mask=ok, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / cols
    d = tl.where(ok, x - mean, 0.0)
    var = tl.sum(d * d, axis=0) / cols
    w = tl.load(w_ptr + c, mask=ok, other=0.0)
    b = tl.load(b_ptr + c, mask=ok, other=0.0)
    tl.store(out_ptr + row * cols + c, d * tl.rsqrt(var + eps) * w + b, mask=ok)


class ModelNew(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(cols))
        self.beta = nn.Parameter(torch.zeros(cols))

    def forward(self, x):
        out, cols = torch.empty_like(x), x.shape[1]
        norm_kernel[(x.shape[0],)](
            x.contiguous(), self.gamma, self.beta, out, cols, 1e-5, BLOCK=triton.next_power_of_2(cols)
        )
        return out
