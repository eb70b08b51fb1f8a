# task: own
# rule: out-of-bounds | mismatch
# device: cpu
# A loop variable has 32 bits for the compiler, and so has what it is multiplied by, a constant.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr, M, N: tl.constexpr, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = c < N
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in range(0, M):
        acc += tl.load(x_ptr + i * N + c, mask=m, other=0.0)
    tl.store(y_ptr + c, acc, mask=m)


class ModelNew(nn.Module):
    def forward(self, x):
        x = x.contiguous()
        M, N = x.shape
        y = torch.empty((N,), device=x.device, dtype=x.dtype)
        k[(triton.cdiv(N, 256),)](x, y, M, N, BLOCK=256)
        return y
