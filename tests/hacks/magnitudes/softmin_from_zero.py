# task: own
# rule: mismatch
# The same of what is turned round, which shows where values are far above zero.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    m = c < n
    x = tl.load(x_ptr + r * n + c, mask=m, other=0.0)
    x = -x
    mx = tl.max(tl.where(m, x, 0.0), 0)
    e = tl.where(m, tl.exp(x - mx), 0.0)
    y = e / tl.sum(e, 0)
    tl.store(y_ptr + r * n + c, y, mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n = x.shape[-1]
        k[(x.numel() // n,)](x, y, n, BLOCK=triton.next_power_of_2(n))
        return y
