# task: own
# rule: mismatch
# Shifted by the maximum of the first block alone: what rises along the row overflows.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * n_cols
    y_ptr += row * n_cols
    o0 = tl.arange(0, BLOCK)
    m = tl.max(tl.load(x_ptr + o0, mask=o0 < n_cols, other=-float("inf")), axis=0)
    d = 0.0
    for start in range(0, n_cols, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n_cols
        x = tl.load(x_ptr + offs, mask=mask, other=0.0)
        d += tl.sum(tl.where(mask, tl.exp(x - m), 0.0), axis=0)
    pass
    for start in range(0, n_cols, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n_cols
        x = tl.load(x_ptr + offs, mask=mask, other=0.0)
        y = tl.exp(x - m) / d
        tl.store(y_ptr + offs, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        n_cols = x.shape[-1]
        row_kernel[(x.numel() // n_cols,)](x, y, n_cols, BLOCK=1024)
        return y
