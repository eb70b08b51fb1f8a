# task: level1/linear
# policy: lenient
# torch multiplies, the kernel adds the bias: allowed under lenient.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def bias_kernel(x_ptr, b_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = col < cols
    x = tl.load(x_ptr + row * cols + col, mask=mask)
    tl.store(out_ptr + row * cols + col, x + tl.load(b_ptr + col, mask=mask), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        y = torch.matmul(x, self.linear.weight.t())
        out = torch.empty_like(y)
        bias_kernel[(y.shape[0], triton.cdiv(y.shape[1], 256))](y, self.linear.bias, out, y.shape[1], BLOCK=256)
        return out
