# task: tasks/pointwise_convolution
# A pointwise convolution that says that it is for as many outputs as inputs, as the task has them.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def k(x_ptr, w_ptr, o_ptr, CI, CO, HW, BC: tl.constexpr, B: tl.constexpr):
    n = tl.program_id(1)
    co = tl.program_id(2)
    p = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.arange(0, BC)
    wv = tl.load(w_ptr + co * CI + c, mask=c < CI, other=0.0)
    x = tl.load(x_ptr + (n * CI + c[:, None]) * HW + p[None, :], mask=(c[:, None] < CI) & (p[None, :] < HW), other=0.0)
    tl.store(o_ptr + (n * CO + co) * HW + p, tl.sum(x * wv[:, None], axis=0), mask=p < HW)


class ModelNew(nn.Module):
    def __init__(self, ci, co):
        super().__init__()
        self.conv = nn.Conv2d(ci, co, 1, bias=False)

    def forward(self, x):
        x = x.contiguous()
        N, CI, H, W = x.shape
        CO = self.conv.weight.shape[0]
        assert CI == CO, "as many outputs as inputs"
        o = torch.empty((N, CO, H, W), device=x.device, dtype=x.dtype)
        k[(triton.cdiv(H * W, 128), N, CO)](x, self.conv.weight, o, CI, CO, H * W, BC=triton.next_power_of_2(CI), B=128)
        return o
