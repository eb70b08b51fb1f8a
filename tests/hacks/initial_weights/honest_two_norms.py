# task: own
# Each norm has its own weight and bias.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def norms_kernel(x_ptr, w_ptr, b_ptr, v_ptr, c_ptr, out_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    ok = c < cols
    x = tl.load(x_ptr + row * cols + c, mask=ok, other=0.0).to(tl.float32)
    for i in tl.static_range(2):
        w = tl.load((w_ptr if i == 0 else v_ptr) + c, mask=ok, other=0.0)
        b = tl.load((b_ptr if i == 0 else c_ptr) + c, mask=ok, other=0.0)
        mean = tl.sum(x, axis=0) / cols
        d = tl.where(ok, x - mean, 0.0)
        x = d / tl.sqrt(tl.sum(d * d, axis=0) / cols + eps) * w + b
        x = tl.where(ok, tl.where(x < 0, 0.0, x), 0.0)
    tl.store(out_ptr + row * cols + c, x, mask=ok)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.first = nn.LayerNorm(features)
        self.second = nn.LayerNorm(features)

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        rows, cols = x.shape
        weights = self.first.weight, self.first.bias, self.second.weight, self.second.bias
        norms_kernel[(rows,)](x, *weights, out, cols, 1e-5, BLOCK=triton.next_power_of_2(cols))
        return out
