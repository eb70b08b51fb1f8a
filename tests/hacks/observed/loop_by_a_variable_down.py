# task: own
# rule: mismatch | constant
# A loop by a step that the compiler does not know goes up: from the last column to the first it does not go round.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, rows, n, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = r < rows
    acc = tl.zeros((BLOCK,), tl.float32)
    step = -1
    for j in range(n - 1, -1, step):
        acc += tl.load(x_ptr + r * n + j, mask=m, other=0.0)
    tl.store(y_ptr + r, acc, mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        rows, n = x.shape
        y = torch.empty((rows,), device=x.device, dtype=x.dtype)
        k[(triton.cdiv(rows, 64),)](x, y, rows, n, BLOCK=64)
        return y
