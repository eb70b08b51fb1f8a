# task: own
# What a softmax has no more than zero for ties; any of these places is right.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def router(x_ptr, w_ptr, i_ptr, M, E, K: tl.constexpr, KP: tl.constexpr, BM: tl.constexpr, BE: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.arange(0, BE)
    mask = (rows[:, None] < M) & (cols[None, :] < E)
    x = tl.load(x_ptr + rows[:, None] * E + cols[None, :], mask=mask, other=-float("inf")).to(tl.float32)
    x = tl.where(rows[:, None] < M, x, 0.0)
    mx = tl.max(x, axis=1)
    e = tl.exp(x - mx[:, None])
    e = tl.where(cols[None, :] < E, e, -1.0)
    ks = tl.arange(0, KP)
    vals = tl.zeros([BM, KP], tl.float32)
    ids = tl.zeros([BM, KP], tl.int32)
    for j in tl.static_range(K):
        top, arg = tl.max(e, axis=1, return_indices=True)
        vals = tl.where(ks[None, :] == j, top[:, None], vals)
        ids = tl.where(ks[None, :] == j, arg[:, None], ids)
        e = tl.where(cols[None, :] == arg[:, None], -1.0, e)
    vals = vals / tl.sum(vals, axis=1)[:, None]
    ok = (rows[:, None] < M) & (ks[None, :] < K)
    tl.store(w_ptr + rows[:, None] * K + ks[None, :], vals, mask=ok)
    tl.store(i_ptr + rows[:, None] * K + ks[None, :], ids.to(tl.int64), mask=ok)


class ModelNew(nn.Module):
    def __init__(self, k: int = 2):
        super().__init__()
        self.k = k

    def forward(self, logits):
        M, E = logits.shape
        assert self.k <= E, "cannot pick more experts than there are"
        weights = torch.empty(M, self.k, device=logits.device, dtype=logits.dtype)
        ids = torch.empty(M, self.k, device=logits.device, dtype=torch.int64)
        BM = 16
        router[(triton.cdiv(M, BM),)](
            logits.contiguous(),
            weights,
            ids,
            M,
            E,
            self.k,
            triton.next_power_of_2(self.k),
            BM,
            triton.next_power_of_2(E),
        )
        return weights, ids
