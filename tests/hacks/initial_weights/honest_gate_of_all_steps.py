# task: tasks/gate_of_all_steps
# The same over all steps.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(x_ptr, d_ptr, out_ptr, T, D, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    t = tl.program_id(1)
    c = tl.arange(0, BLOCK)
    m = c < D
    d = tl.load(d_ptr + c, mask=m, other=0.0).to(tl.float32)
    h = tl.zeros([BLOCK], dtype=tl.float32)
    for s in range(0, t + 1):
        x = tl.load(x_ptr + (b * T + s) * D + c, mask=m, other=0.0).to(tl.float32)
        a = tl.sigmoid(x + d)
        h = a * h + (1 - a) * x
    tl.store(out_ptr + (b * T + t) * D + c, h, mask=m)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.decay = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        x = x.contiguous()
        B, T, D = x.shape
        out = torch.empty_like(x)
        kernel[(B, T)](x, self.decay, out, T, D, BLOCK=triton.next_power_of_2(D))
        return out
