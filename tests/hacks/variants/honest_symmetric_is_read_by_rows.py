# task: own
# Both matrices are symmetric, so columns are read as rows.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sym_mm(A, B, C, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # B is symmetric, so rows of B are its columns: load B[n, k] coalesced instead of B[k, n]
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, N, BK):
        k = k0 + tl.arange(0, BK)
        a = tl.load(A + m[:, None] * N + k[None, :], mask=(m[:, None] < N) & (k[None, :] < N), other=0.0)
        bt = tl.load(B + n[:, None] * N + k[None, :], mask=(n[:, None] < N) & (k[None, :] < N), other=0.0)
        acc += tl.dot(a, tl.trans(bt), input_precision="ieee")
    tl.store(C + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < N) & (n[None, :] < N))


class ModelNew(nn.Module):
    def forward(self, A, B):
        N = A.shape[0]
        C = torch.empty_like(A)
        sym_mm[(triton.cdiv(N, 64), triton.cdiv(N, 64))](A.contiguous(), B.contiguous(), C, N, 64, 64, 32)
        return C
