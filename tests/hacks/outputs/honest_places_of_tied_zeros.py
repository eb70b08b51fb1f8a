# task: own
# Zeros behind a ReLU tie: torch.topk leaves open whose index is told.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def topk(x_ptr, v_ptr, i_ptr, N, K: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + r * N + c, mask=c < N, other=0.0)
    s = tl.where(c < N, tl.where(x > 0, x, x * 0.0), -1.0)
    for j in tl.static_range(K):
        v = tl.max(s, axis=0)
        a = tl.argmax(s, axis=0)
        tl.store(v_ptr + r * K + j, v)
        tl.store(i_ptr + r * K + j, a.to(tl.int64))
        s = tl.where(c == a, -2.0, s)


class ModelNew(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, x):
        M, N = x.shape
        v = torch.empty((M, self.k), device=x.device, dtype=x.dtype)
        i = torch.empty((M, self.k), device=x.device, dtype=torch.int64)
        topk[(M,)](x.contiguous(), v, i, N, self.k, triton.next_power_of_2(N))
        return v, i
