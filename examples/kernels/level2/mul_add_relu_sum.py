"""A factor and a bias a feature, ReLU and the row's sum; a program a row, lanes summed once at the end."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mul_add_relu_sum_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n
        x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        bias = tl.load(bias_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        acc += tl.maximum(x * weight + bias, 0.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + row, tl.sum(acc, axis=0))


class ModelNew(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(features))
        self.bias = nn.Parameter(torch.randn(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, n = x.shape
        out = torch.empty((rows,), device=x.device, dtype=x.dtype)
        block = min(2048, triton.next_power_of_2(n))
        mul_add_relu_sum_kernel[(rows,)](x, self.weight, self.bias, out, n, BLOCK=block, num_warps=8)
        return out
