# task: own
# Rows and columns come round behind the last of them, as in Triton's own product.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.heuristics(
    {
        "EVEN_K": lambda args: args["K"] % (args["BLOCK_K"] * args["SPLIT_K"]) == 0,
    }
)
@triton.jit
def _splitk_linear(
    X,
    W,
    Bias,
    Y,
    M,
    N,
    K,
    sxm,
    sxk,
    swn,
    swk,
    sym,
    syn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SPLIT_K: tl.constexpr,
    EVEN_K: tl.constexpr,
):
    pid = tl.program_id(0)
    pid_z = tl.program_id(1)
    grid_n = tl.cdiv(N, BLOCK_N)
    pid_m = pid // grid_n
    pid_n = pid % grid_n
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    ram = tl.max_contiguous(tl.multiple_of(rm % M, BLOCK_M), BLOCK_M)
    rbn = tl.max_contiguous(tl.multiple_of(rn % N, BLOCK_N), BLOCK_N)
    rk = pid_z * BLOCK_K + tl.arange(0, BLOCK_K)
    X = X + (ram[:, None] * sxm + rk[None, :] * sxk)
    W = W + (rk[:, None] * swk + rbn[None, :] * swn)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K * SPLIT_K)):
        if EVEN_K:
            a = tl.load(X)
            b = tl.load(W)
        else:
            k_remaining = K - k * (BLOCK_K * SPLIT_K)
            a = tl.load(X, mask=rk[None, :] < k_remaining, other=0.0)
            b = tl.load(W, mask=rk[:, None] < k_remaining, other=0.0)
        acc += tl.dot(a, b, input_precision="ieee")
        X += BLOCK_K * SPLIT_K * sxk
        W += BLOCK_K * SPLIT_K * swk
    if pid_z == 0:
        bias = tl.load(Bias + rn, mask=rn < N, other=0.0)
        acc += bias[None, :]
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    Y = Y + (rm[:, None] * sym + rn[None, :] * syn)
    mask = (rm < M)[:, None] & (rn < N)[None, :]
    tl.atomic_add(Y, acc, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        M, K = x.shape
        N = self.linear.out_features
        y = torch.zeros((M, N), device=x.device, dtype=torch.float32)
        w, b = self.linear.weight, self.linear.bias
        BM, BN, BK, SK = 16, 32, 64, 4
        _splitk_linear[(triton.cdiv(M, BM) * triton.cdiv(N, BN), SK)](
            x,
            w,
            b,
            y,
            M,
            N,
            K,
            x.stride(0),
            x.stride(1),
            w.stride(0),
            w.stride(1),
            y.stride(0),
            y.stride(1),
            BLOCK_M=BM,
            BLOCK_N=BN,
            BLOCK_K=BK,
            SPLIT_K=SK,
            num_warps=4,
            num_stages=3,
        )
        return y.to(x.dtype)
