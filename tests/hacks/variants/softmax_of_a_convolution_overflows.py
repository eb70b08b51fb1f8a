# task: own
# rule: mismatch
# Without the maximum, behind a convolution of few channels.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def conv_kernel(x_ptr, w_ptr, b_ptr, o_ptr, C, OUT, S, BO: tl.constexpr):
    p = tl.program_id(0)
    n = p // S
    s = p % S
    o = tl.arange(0, BO)
    acc = tl.load(b_ptr + o, mask=o < OUT, other=0.0).to(tl.float32)
    for c in range(0, C):
        acc += tl.load(x_ptr + (n * C + c) * S + s).to(tl.float32) * tl.load(
            w_ptr + o * C + c, mask=o < OUT, other=0.0
        ).to(tl.float32)
    e = tl.where(o < OUT, tl.exp(acc), 0.0)
    tl.store(o_ptr + (n * OUT + o) * S + s, e / tl.sum(e, axis=0), mask=o < OUT)


class ModelNew(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.conv = nn.Conv2d(a, b, 1)

    def forward(self, x):
        N, C, H, W = x.shape
        OUT = self.conv.weight.shape[0]
        out = torch.empty((N, OUT, H, W), device=x.device, dtype=x.dtype)
        conv_kernel[(N * H * W,)](
            x.contiguous(), self.conv.weight, self.conv.bias, out, C, OUT, H * W, BO=triton.next_power_of_2(OUT)
        )
        return out
