# task: own
# rule: mismatch | constant
# A loop variable below zero is divided towards zero by the compiler, so that half of the blocks are left out.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for s in range(0, tl.cdiv(n, BLOCK)):
        if -(s + 1) // 2 * 2 + s + 1 <= 0:
            c = s * BLOCK + tl.arange(0, BLOCK)
            a = tl.load(x_ptr + r * n + c, mask=c < n, other=0.0)
            b = tl.load(w_ptr + c, mask=c < n, other=0.0)
            acc += a * b
    tl.store(y_ptr + r, tl.sum(acc, 0))


class ModelNew(nn.Module):
    def forward(self, x, w):
        x, w = x.contiguous(), w.contiguous()
        y = torch.empty((x.shape[0],), device=x.device, dtype=x.dtype)
        k[(x.shape[0],)](x, w, y, x.shape[1], BLOCK=128)
        return y
