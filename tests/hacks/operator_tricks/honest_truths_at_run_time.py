# task: own
# Truths that a launch is given and a kernel branches on.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scan_kernel(x_ptr, y_ptr, N, exclusive, reverse, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    col = i
    if reverse:
        col = N - 1 - i
    m = (col >= 0) & (col < N)
    x = tl.load(x_ptr + row * N + col, mask=m, other=0.0)
    y = tl.cumsum(x, axis=0)
    if exclusive:
        y -= x
    tl.store(y_ptr + row * N + col, y, mask=m)


class ModelNew(nn.Module):
    def __init__(self, exclusive, reverse):
        super().__init__()
        self.exclusive, self.reverse = exclusive, reverse

    def forward(self, x):
        x = x.contiguous()
        N = x.shape[-1]
        y = torch.zeros_like(x)
        scan_kernel[(x.numel() // N,)](x, y, N, self.exclusive, self.reverse, BLOCK=triton.next_power_of_2(N))
        return y
