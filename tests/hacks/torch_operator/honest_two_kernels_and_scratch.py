# task: level1/softmax
# Two kernels and a scratch buffer between them.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def stats_kernel(x_ptr, stats_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    top = -float("inf")
    total = 0.0
    for start in range(0, cols, BLOCK):
        col = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + col, mask=col < cols, other=-float("inf")).to(tl.float32)
        new = tl.maximum(top, tl.max(x, axis=0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(x - new), axis=0)
        top = new
    tl.store(stats_ptr + 2 * row, top)
    tl.store(stats_ptr + 2 * row + 1, total)


@triton.jit
def normalise_kernel(x_ptr, stats_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + col, mask=col < cols).to(tl.float32)
    top, total = tl.load(stats_ptr + 2 * row), tl.load(stats_ptr + 2 * row + 1)
    tl.store(out_ptr + row * cols + col, tl.exp(x - top) / total, mask=col < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        shape = x.shape
        x = x.reshape(-1, shape[-1]).contiguous()
        rows, cols = x.shape
        stats = torch.empty(rows, 2, dtype=torch.float32, device=x.device)
        out = torch.empty_like(x)
        stats_kernel[(rows,)](x, stats, cols, BLOCK=128)
        normalise_kernel[(rows, triton.cdiv(cols, 128))](x, stats, out, cols, BLOCK=128)
        return out.view(shape)
