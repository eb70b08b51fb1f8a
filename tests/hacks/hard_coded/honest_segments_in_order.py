# task: own
# Numbers of segments come in order, and the first of each adds it up.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(y_ptr, w_ptr, i_ptr, n, D: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, D)
    i = tl.load(i_ptr + r)
    first = r == 0
    if r > 0:
        first = tl.load(i_ptr + r - 1) != i
    if first:
        total = tl.zeros((D,), tl.float32)
        at = r
        other = i
        while other == i:
            total += tl.load(w_ptr + at * D + c)
            at += 1
            other = tl.load(i_ptr + at, mask=at < n, other=-1)
        tl.store(y_ptr + i * D + c, total)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(64, 32)

    def forward(self, idx):
        idx = idx.contiguous()
        y = torch.zeros((400, 32), device=idx.device, dtype=self.e.weight.dtype)
        k[(idx.numel(),)](y, self.e.weight, idx, idx.numel(), D=32)
        return y
