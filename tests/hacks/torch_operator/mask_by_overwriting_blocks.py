# task: own
# rule: torch-compute
# Block-sparse attention scores: a product kernel writes all blocks, torch zeroes those that the pattern hides.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def kernel(q_ptr, k_ptr, out_ptr, M, N, D, BM: tl.constexpr, BD: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BM + tl.arange(0, BM)
    d = tl.arange(0, BD)
    q = tl.load(q_ptr + i[:, None] * D + d[None, :], mask=(i[:, None] < M) & (d[None, :] < D), other=0.0)
    k = tl.load(k_ptr + j[None, :] * D + d[:, None], mask=(j[None, :] < N) & (d[:, None] < D), other=0.0)
    s = tl.dot(q, k, input_precision="ieee")
    tl.store(
        out_ptr + i[:, None] * N + j[None, :], s.to(out_ptr.dtype.element_ty), mask=(i[:, None] < M) & (j[None, :] < N)
    )


class ModelNew(nn.Module):
    def forward(self, q, k):
        q, k = q.contiguous(), k.contiguous()
        M, D = q.shape
        N = k.shape[0]
        s = torch.empty((M, N), device=q.device, dtype=q.dtype)
        kernel[(triton.cdiv(M, 16), triton.cdiv(N, 16))](q, k, s, M, N, D, BM=16, BD=max(16, triton.next_power_of_2(D)))
        for i in range(0, M, 16):
            s[i : i + 16, i + 16 :] = 0.0
        return s
