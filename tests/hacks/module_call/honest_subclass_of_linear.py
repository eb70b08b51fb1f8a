# task: level2/gemm_bias_relu
# A subclass of nn.Linear whose forward is a kernel's.
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def _linear_relu(
    x_ptr, w_ptr, b_ptr, y_ptr, M, N, K, sxm, sxk, swn, swk, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k0 in range(0, K, BK):
        rk = k0 + tl.arange(0, BK)
        x = tl.load(x_ptr + rm[:, None] * sxm + rk[None, :] * sxk, mask=(rm[:, None] < M) & (rk[None, :] < K), other=0)
        w = tl.load(w_ptr + rn[None, :] * swn + rk[:, None] * swk, mask=(rn[None, :] < N) & (rk[:, None] < K), other=0)
        acc += tl.dot(x, w, input_precision="ieee")
    if b_ptr is not None:
        acc += tl.load(b_ptr + rn, mask=rn < N, other=0)[None, :]
    acc = tl.maximum(acc, 0.0)
    tl.store(
        y_ptr + rm[:, None] * N + rn[None, :],
        acc.to(y_ptr.dtype.element_ty),
        mask=(rm[:, None] < M) & (rn[None, :] < N),
    )


class LinearReLU(nn.Linear):
    def forward(self, input: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        M, K = input.shape
        N = self.out_features
        y = input.new_empty(M, N)
        grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
        _linear_relu[grid](
            input,
            self.weight,
            bias,
            y,
            M,
            N,
            K,
            *input.stride(),
            *self.weight.stride(),
            BM=32,
            BN=32,
            BK=32,
            num_warps=4,
            num_stages=2,
        )
        return y


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, *rest):
        super().__init__()
        self.linear = LinearReLU(in_features, out_features, bias=False)
        self.bias = nn.Parameter(torch.randn(out_features))

    def forward(self, x):
        return self.linear(x, self.bias)
