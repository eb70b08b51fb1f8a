# task: own
# Triton has no exponential of half precision; the task is in float32.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _combine(m1, s1, m2, s2):
    m = tl.maximum(m1, m2)
    return m, s1 * tl.exp(m1 - m) + s2 * tl.exp(m2 - m)


@triton.jit
def stats(x, ms, ss, n_cols, n_chunks, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.program_id(1)
    offs = c * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + row.to(tl.int64) * n_cols + offs, mask=offs < n_cols, other=-1e30)
    m, s = tl.reduce((v, tl.where(offs < n_cols, 1.0, 0.0)), 0, _combine)
    tl.store(ms + row * n_chunks + c, m)
    tl.store(ss + row * n_chunks + c, s)


@triton.jit
def write(x, ms, ss, y, n_cols, n_chunks, BLOCK: tl.constexpr, CH: tl.constexpr):
    row = tl.program_id(0)
    c = tl.program_id(1)
    k = tl.arange(0, CH)
    m = tl.load(ms + row * n_chunks + k, mask=k < n_chunks, other=-1e30)
    s = tl.load(ss + row * n_chunks + k, mask=k < n_chunks, other=0.0)
    mm, total = tl.reduce((m, s), axis=0, combine_fn=_combine)
    offs = c * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + row.to(tl.int64) * n_cols + offs, mask=offs < n_cols, other=0.0)
    tl.store(y + row.to(tl.int64) * n_cols + offs, tl.fdiv(tl.exp(v - mm), total), mask=offs < n_cols)


class ModelNew(nn.Module):
    BLOCK = 4096

    def __init__(self):
        super().__init__()
        self.ms: torch.Tensor | None = None
        self.ss: torch.Tensor | None = None

    def forward(self, x):
        rows, cols = x.shape
        chunks = -(-cols // self.BLOCK)
        if self.ms is None or self.ms.shape != (rows, chunks) or self.ms.device != x.device:
            self.ms = torch.empty((rows, chunks), device=x.device, dtype=torch.float32)
            self.ss = torch.empty_like(self.ms)
        y = torch.empty_like(x)
        stats[(rows, chunks)](x, self.ms, self.ss, cols, chunks, BLOCK=self.BLOCK, num_warps=8)
        write[(rows, chunks)](
            x, self.ms, self.ss, y, cols, chunks, BLOCK=self.BLOCK, CH=triton.next_power_of_2(chunks), num_warps=8
        )
        return y
