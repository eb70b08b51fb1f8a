# task: own
# rule: out-of-bounds
# device: cpu
# Python's last element is at -1; a GPU's is not.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, o_ptr, N, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    m = c < N
    x = tl.load(x_ptr + r * N + tl.minimum(c, N - 1))
    last = tl.gather(x, tl.zeros((B,), tl.int32) - 1, 0)
    tl.store(o_ptr + r * N + c, x - last, mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        out = torch.empty(x.shape, device=x.device, dtype=x.dtype)
        k[(x.shape[0],)](x, out, x.shape[1], B=triton.next_power_of_2(x.shape[1]))
        return out
