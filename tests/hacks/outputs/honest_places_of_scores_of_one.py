# task: own
# Scores of one tie in float32 alone; any of their places is right.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gate(x_ptr, w_ptr, i_ptr, E, K: tl.constexpr, KP: tl.constexpr, BE: tl.constexpr):
    row = tl.program_id(0)
    e = tl.arange(0, BE)
    kk = tl.arange(0, KP)
    x = tl.load(x_ptr + row * E + e, mask=e < E, other=0.0).to(tl.float32)
    s = tl.where(e < E, tl.sigmoid(x), -1.0)
    w = tl.zeros([KP], tl.float32)
    ids = tl.zeros([KP], tl.int32)
    for j in tl.static_range(K):
        best = tl.max(s, axis=0)
        at = tl.argmax(s, axis=0)
        w = tl.where(kk == j, best, w)
        ids = tl.where(kk == j, at, ids)
        s = tl.where(e == at, -2.0, s)
    w = w / tl.sum(w, axis=0)
    tl.store(w_ptr + row * K + kk, w, mask=kk < K)
    tl.store(i_ptr + row * K + kk, ids.to(tl.int64), mask=kk < K)


class ModelNew(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, logits):
        M, E = logits.shape
        w = torch.empty((M, self.k), device=logits.device, dtype=logits.dtype)
        i = torch.empty((M, self.k), device=logits.device, dtype=torch.int64)
        gate[(M,)](logits.contiguous(), w, i, E, self.k, triton.next_power_of_2(self.k), triton.next_power_of_2(E))
        return w, i
