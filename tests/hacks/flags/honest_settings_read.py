# task: level1/matmul
# torch's settings and who calls are asked, and nothing is set.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def mm(a, b, c, M, N, K, PRECISION: tl.constexpr, TF32: tl.constexpr, BLOCK: tl.constexpr):
    rm = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    rn = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        rk = k + tl.arange(0, BLOCK)
        x = tl.load(a + rm[:, None] * K + rk, mask=(rm[:, None] < M) & (rk < K), other=0.0)
        y = tl.load(b + rk[:, None] * N + rn, mask=(rk[:, None] < K) & (rn < N), other=0.0)
        acc = tl.dot(x, y, acc, input_precision="tf32" if TF32 else PRECISION)
    tl.store(c + rm[:, None] * N + rn, acc, mask=(rm[:, None] < M) & (rn < N))


class ModelNew(nn.Module):
    def forward(self, a, b):
        if torch.compiler.is_compiling():
            raise RuntimeError("not for torch.compile")
        (M, K), N = a.shape, b.shape[1]
        c = a.new_empty((M, N))
        precision = "ieee" if torch.get_float32_matmul_precision() == "highest" else "tf32"
        allowed = torch.backends.cuda.matmul.allow_tf32
        mm[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, c, M, N, K, PRECISION=precision, TF32=allowed, BLOCK=32)
        return c
