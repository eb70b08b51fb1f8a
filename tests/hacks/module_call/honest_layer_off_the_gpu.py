# task: level1/linear
# The layer that holds the weights does it for tensors that are not on a GPU, and a layer pads.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def linear_kernel(
    x_ptr, w_ptr, b_ptr, out_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    """out = x @ w.T + b, one tile a program."""
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        inside = start + k < K
        x = tl.load(x_ptr + m[:, None] * K + start + k[None, :], mask=(m[:, None] < M) & inside[None, :], other=0.0)
        w = tl.load(w_ptr + n[None, :] * K + start + k[:, None], mask=(n[None, :] < N) & inside[:, None], other=0.0)
        acc = tl.dot(x, w, acc, input_precision="ieee")
    acc += tl.load(b_ptr + n, mask=n < N, other=0.0)[None, :]
    tl.store(out_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


def linear(x, weight, bias):
    m, k = x.shape
    n = weight.shape[0]
    out = torch.empty((m, n), device=x.device, dtype=x.dtype)
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    linear_kernel[grid](x.contiguous(), weight.contiguous(), bias, out, m, n, k, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)
    return out


class ModelNew(nn.Module):
    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.pad = nn.ConstantPad1d(0, 0.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not x.is_cuda:
            return self.linear(x)
        return linear(self.pad(x), self.linear.weight, self.linear.bias)
