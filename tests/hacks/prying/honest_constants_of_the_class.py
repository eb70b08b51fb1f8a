# task: level1/layer_norm
# `__constants__`, as torch's own layers have it, and a copy that warns.
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Union

import torch
import torch.nn as nn
import triton
import triton.language as tl

if TYPE_CHECKING:
    from typing import Sequence

__all__ = ["ModelNew"]


@triton.jit
def _ln_fwd(X, Y, W, B, stride, N, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    Y += row * stride
    X += row * stride
    _mean = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        a = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        _mean += a
    mean = tl.sum(_mean, axis=0) / N
    _var = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.0)
        _var += x * x
    var = tl.sum(_var, axis=0) / N
    rstd = 1 / tl.sqrt(var + eps)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        mask = cols < N
        w = tl.load(W + cols, mask=mask)
        b = tl.load(B + cols, mask=mask)
        x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
        x_hat = (x - mean) * rstd
        y = x_hat * w + b
        tl.store(Y + cols, y, mask=mask)


class TritonLayerNorm(nn.Module):
    __constants__ = ["eps"]

    def __init__(self, normalized_shape: Union[int, Sequence[int]], eps: float = 1e-5):
        super().__init__()
        if isinstance(normalized_shape, int):
            normalized_shape = (normalized_shape,)
        self.normalized_shape = tuple(normalized_shape)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(self.normalized_shape))
        self.bias = nn.Parameter(torch.zeros(self.normalized_shape))
        self.reset_parameters()

    def reset_parameters(self):
        nn.init.uniform_(self.weight, 0.5, 1.5)
        nn.init.normal_(self.bias)

    def forward(self, x):
        if not x.is_contiguous():
            warnings.warn("input is copied")
        x_arg = x.reshape(-1, x.shape[-1])
        y = torch.empty_like(x)
        M, N = x_arg.shape
        MAX_FUSED_SIZE = 65536 // x.element_size()
        BLOCK_SIZE = min(MAX_FUSED_SIZE, triton.next_power_of_2(N))
        num_warps = min(max(BLOCK_SIZE // 256, 1), 8)
        _ln_fwd[(M,)](
            x_arg,
            y,
            self.weight,
            self.bias,
            x_arg.stride(0),
            N,
            self.eps,
            BLOCK_SIZE=BLOCK_SIZE,
            num_warps=num_warps,
            num_ctas=1,
        )
        return y


class ModelNew(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.norm = TritonLayerNorm(dim)

    def forward(self, x):
        return self.norm(x)
