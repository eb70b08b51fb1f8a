# task: own
# rule: mismatch
# The answer to one row has no rows.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(x_ptr, out_ptr, T, D, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < D
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for t in range(T):
        x = tl.load(x_ptr + (b * T + t) * D + c, mask=m, other=0.0).to(tl.float32)
        acc += x * x
    tl.store(out_ptr + b * D + c, acc, mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        B, T, D = x.shape
        out = torch.empty((B, 1, D), device=x.device, dtype=x.dtype)
        kernel[(B,)](x, out, T, D, BLOCK=triton.next_power_of_2(D))
        return out.squeeze()
