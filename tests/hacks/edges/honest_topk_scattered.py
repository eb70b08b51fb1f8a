# task: own
# Which of equal values are kept is not said; those that come first are.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ksparse_kernel(x_ptr, y_ptr, V, k, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * V + c, mask=c < V, other=float("-inf"))
    # rank: how many come before, the first index wins among equal ones
    ahead = (x[None, :] > x[:, None]) | ((x[None, :] == x[:, None]) & (c[None, :] < c[:, None]))
    rank = tl.sum(ahead.to(tl.int32), 1)
    tl.store(y_ptr + row * V + c, tl.where(rank < k, x, -1.0), mask=c < V)


class ModelNew(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, x):
        x = x.contiguous()
        B, V = x.shape
        y = torch.empty_like(x)
        ksparse_kernel[(B,)](x, y, V, self.k, BLOCK=triton.next_power_of_2(V))
        return y
