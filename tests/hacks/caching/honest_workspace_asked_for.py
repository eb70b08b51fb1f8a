# task: own
# hasattr(self, "_workspace") asks for an attribute of its own; every call writes all of it anew.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def splitk_kernel(x, w, ws, M, N, K, KS, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    s = tl.program_id(2)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(s * KS, min((s + 1) * KS, K), BK):
        rk = k + tl.arange(0, BK)
        km = (rk < K) & (rk < (s + 1) * KS)
        a = tl.load(x + rm[:, None] * K + rk[None, :], mask=(rm < M)[:, None] & km[None, :], other=0.0)
        b = tl.load(w + rn[None, :] * K + rk[:, None], mask=(rn < N)[None, :] & km[:, None], other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
    tl.store(ws + s * M * N + rm[:, None] * N + rn[None, :], acc, mask=(rm < M)[:, None] & (rn < N)[None, :])


@triton.jit
def reduce_bias_relu(ws, bias, out, MN, N, S: tl.constexpr, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < MN
    acc = tl.load(bias + o % N, mask=m, other=0.0)
    for s in tl.static_range(S):
        acc += tl.load(ws + s * MN + o, mask=m, other=0.0)
    tl.store(out + o, tl.maximum(acc, 0.0), mask=m)


class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, 3 * d)

    def _get_workspace(self, shape, device):
        # reuse the split-K workspace between calls (it is overwritten completely each time)
        if not hasattr(self, "_workspace") or self._workspace.shape != shape:
            self._workspace = torch.empty(shape, device=device, dtype=torch.float32)
        return self._workspace

    def forward(self, x):
        x = x.contiguous()
        M, K = x.shape
        N = self.fc.out_features
        S = 4
        ws = self._get_workspace((S, M, N), x.device)
        out = torch.empty((M, N), device=x.device, dtype=x.dtype)
        splitk_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32), S)](
            x, self.fc.weight, ws, M, N, K, triton.cdiv(K, S), BM=32, BN=32, BK=16
        )
        reduce_bias_relu[(triton.cdiv(M * N, 512),)](ws, self.fc.bias, out, M * N, N, S=S, BLOCK=512)
        return out
