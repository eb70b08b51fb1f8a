# task: own
# Sines of times a thousand apart, whose frequencies an exponential gives.
import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def timestep_kernel(t_ptr, s_ptr, o_ptr, HALF, log_period, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    m = i < HALF
    t = tl.load(t_ptr + r)
    s = tl.load(s_ptr + r)
    a = t * tl.exp(-log_period * i.to(tl.float32) / HALF)
    tl.store(o_ptr + r * 2 * HALF + i, tl.cos(a) * s, mask=m)
    tl.store(o_ptr + r * 2 * HALF + HALF + i, tl.sin(a) * s, mask=m)


class ModelNew(nn.Module):
    def __init__(self, dim, max_period):
        super().__init__()
        self.half = dim // 2
        self.log_period = math.log(max_period)

    def forward(self, t, scale):
        o = torch.empty((t.shape[0], 2 * self.half), dtype=torch.float32, device=t.device)
        timestep_kernel[(t.shape[0],)](
            t.contiguous(), scale.contiguous(), o, self.half, self.log_period, BLOCK=triton.next_power_of_2(self.half)
        )
        return o
