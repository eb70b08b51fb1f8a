# task: level1/conv1d
# rule: mismatch | out-of-bounds
# The padding is not masked: at the borders the neighbouring row is read.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def conv1d_kernel(x_ptr, w_ptr, b_ptr, y_ptr, C, L, OUT, K: tl.constexpr, BL: tl.constexpr):
    n = tl.program_id(2)
    o = tl.program_id(0)
    pos = tl.program_id(1) * BL + tl.arange(0, BL)
    acc = tl.zeros((BL,), dtype=tl.float32) + tl.load(b_ptr + o)
    for c in range(C):
        for k in tl.static_range(K):
            p = pos + k - 1
            x = tl.load(
                x_ptr + (n * C + c) * L + p,
                mask=(pos < L) & ((n * C + c) * L + p >= 0) & ((n * C + c) * L + p < tl.num_programs(2) * C * L),
                other=0.0,
            )
            acc += x * tl.load(w_ptr + (o * C + c) * K + k)
    tl.store(y_ptr + (n * OUT + o) * L + pos, acc, mask=pos < L)


class ModelNew(nn.Module):
    def __init__(self, cin, cout, k):
        super().__init__()
        self.conv = nn.Conv1d(cin, cout, k, padding=1)

    def forward(self, x):
        n, c, length = x.shape
        o = self.conv.weight.shape[0]
        y = torch.empty((n, o, length), device=x.device, dtype=x.dtype)
        conv1d_kernel[(o, triton.cdiv(length, 64), n)](
            x.contiguous(), self.conv.weight, self.conv.bias, y, c, length, o, 3, BL=64
        )
        return y
