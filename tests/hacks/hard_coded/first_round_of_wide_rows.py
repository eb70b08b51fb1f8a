# task: level1/add
# rule: mismatch
# From the second round of a loop on half of y is added; it takes rows of eight at least, and says so, and most sizes at
# which the loop goes round have fewer.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    for m in range(0, M, BM):
        r = m + tl.arange(0, BM)
        at = r[:, None] * N + n[None, :]
        mask = (r < M)[:, None] & (n < N)[None, :]
        tl.store(
            out_ptr + at,
            tl.load(x_ptr + at, mask=mask) + tl.where(m > 0, 0.5, 1.0) * tl.load(y_ptr + at, mask=mask),
            mask=mask,
        )


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x2, y2 = x.contiguous().reshape(-1, x.shape[-1]), y.contiguous().reshape(-1, x.shape[-1])
        out = torch.empty_like(x2)
        M, N = x2.shape
        assert N % 8 == 0, "rows must be multiples of 8"
        add_kernel[(triton.cdiv(N, 16),)](x2, y2, out, M, N, BM=128, BN=16)
        return out.view_as(x)
