# task: own
# Numbers of experts that are compared alone are never negative.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def moe_align_kernel(
    topk_ids_ptr,
    sorted_ids_ptr,
    expert_of_block_ptr,
    num_post_pad_ptr,
    numel,
    num_experts,
    BLOCK_SIZE: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """One program sorts the (token, k) pairs by expert, padding each expert to BLOCK_SIZE."""
    start = 0
    for e in range(num_experts):
        count = 0
        for c in range(0, numel, CHUNK):
            offs = c + tl.arange(0, CHUNK)
            ids = tl.load(topk_ids_ptr + offs, mask=offs < numel, other=-1)
            hit = (ids == e).to(tl.int32)
            rank = tl.cumsum(hit, axis=0) - 1
            tl.store(sorted_ids_ptr + start + count + rank, offs, mask=hit == 1)
            count += tl.sum(hit, axis=0)
        padded = tl.cdiv(count, BLOCK_SIZE) * BLOCK_SIZE
        for b in range(0, padded // BLOCK_SIZE):
            tl.store(expert_of_block_ptr + start // BLOCK_SIZE + b, e)
        start += padded
    tl.store(num_post_pad_ptr, start)


@triton.jit
def fused_moe_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    topk_weights_ptr,
    sorted_token_ids_ptr,
    expert_ids_ptr,
    num_tokens_post_padded_ptr,
    N,
    K,
    num_valid_tokens,
    stride_am,
    stride_ak,
    stride_be,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    MUL_ROUTED_WEIGHT: tl.constexpr,
    top_k: tl.constexpr,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
):
    pid_m = tl.program_id(axis=0)
    pid_n = tl.program_id(axis=1)
    num_tokens_post_padded = tl.load(num_tokens_post_padded_ptr)
    if pid_m * BLOCK_SIZE_M >= num_tokens_post_padded:
        return
    offs_token_id = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_token = tl.load(sorted_token_ids_ptr + offs_token_id)
    token_mask = offs_token < num_valid_tokens
    offs_bn = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + (offs_token[:, None] // top_k * stride_am + offs_k[None, :] * stride_ak)
    off_experts = tl.load(expert_ids_ptr + pid_m)
    b_ptrs = b_ptr + off_experts * stride_be + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        a = tl.load(a_ptrs, mask=token_mask[:, None] & (offs_k[None, :] < K - k * BLOCK_SIZE_K), other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
        accumulator += tl.dot(a, b, input_precision="ieee")
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk
    if MUL_ROUTED_WEIGHT:
        moe_weight = tl.load(topk_weights_ptr + offs_token, mask=token_mask, other=0)
        accumulator = accumulator * moe_weight[:, None]
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + stride_cm * offs_token[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, accumulator, mask=token_mask[:, None] & (offs_cn[None, :] < N))


@triton.jit
def silu_and_mul_kernel(gateup_ptr, out_ptr, d, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    for s in range(0, d, BLOCK):
        o = s + tl.arange(0, BLOCK)
        g = tl.load(gateup_ptr + row * 2 * d + o, mask=o < d, other=0.0).to(tl.float32)
        u = tl.load(gateup_ptr + row * 2 * d + d + o, mask=o < d, other=0.0)
        tl.store(out_ptr + row * d + o, g * tl.sigmoid(g) * u, mask=o < d)


@triton.jit
def moe_sum_kernel(y_ptr, out_ptr, H, TOPK: tl.constexpr, BLOCK: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    for s in range(0, H, BLOCK):
        o = s + tl.arange(0, BLOCK)
        acc = tl.zeros((BLOCK,), tl.float32)
        for k in tl.static_range(TOPK):
            acc += tl.load(y_ptr + (t * TOPK + k) * H + o, mask=o < H, other=0.0)
        tl.store(out_ptr + t * H + o, acc, mask=o < H)


class ModelNew(nn.Module):
    def __init__(self, num_experts, hidden, inter):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(num_experts, 2 * inter, hidden) * hidden**-0.5)
        self.w2 = nn.Parameter(torch.randn(num_experts, hidden, inter) * inter**-0.5)

    def forward(self, x, topk_weights, topk_ids):
        BM, BN, BK = 16, 64, 32
        T, top_k = topk_ids.shape
        E, N1, H = self.w1.shape
        inner = N1 // 2
        dev = x.device
        numel = T * top_k
        max_padded = numel + E * (BM - 1)
        max_padded = (max_padded + BM - 1) // BM * BM
        sorted_ids = torch.full((max_padded,), numel, dtype=torch.int32, device=dev)
        expert_ids = torch.zeros((max_padded // BM,), dtype=torch.int32, device=dev)
        num_post = torch.empty((1,), dtype=torch.int32, device=dev)
        topk_ids = topk_ids.contiguous()
        topk_weights = topk_weights.contiguous()
        moe_align_kernel[(1,)](topk_ids, sorted_ids, expert_ids, num_post, numel, E, BLOCK_SIZE=BM, CHUNK=256)
        inter1 = torch.empty((numel, N1), device=dev, dtype=x.dtype)
        inter2 = torch.empty((numel, inner), device=dev, dtype=x.dtype)
        inter3 = torch.empty((numel, H), device=dev, dtype=x.dtype)
        fused_moe_kernel[(max_padded // BM, triton.cdiv(N1, BN))](
            x,
            self.w1,
            inter1,
            topk_weights,
            sorted_ids,
            expert_ids,
            num_post,
            N1,
            H,
            numel,
            x.stride(0),
            x.stride(1),
            self.w1.stride(0),
            self.w1.stride(2),
            self.w1.stride(1),
            inter1.stride(0),
            inter1.stride(1),
            MUL_ROUTED_WEIGHT=False,
            top_k=top_k,
            BLOCK_SIZE_M=BM,
            BLOCK_SIZE_N=BN,
            BLOCK_SIZE_K=BK,
        )
        silu_and_mul_kernel[(numel,)](inter1, inter2, inner, BLOCK=512)
        fused_moe_kernel[(max_padded // BM, triton.cdiv(H, BN))](
            inter2,
            self.w2,
            inter3,
            topk_weights,
            sorted_ids,
            expert_ids,
            num_post,
            H,
            inner,
            numel,
            inter2.stride(0),
            inter2.stride(1),
            self.w2.stride(0),
            self.w2.stride(2),
            self.w2.stride(1),
            inter3.stride(0),
            inter3.stride(1),
            MUL_ROUTED_WEIGHT=True,
            top_k=1,
            BLOCK_SIZE_M=BM,
            BLOCK_SIZE_N=BN,
            BLOCK_SIZE_K=BK,
        )
        out = torch.empty_like(x)
        moe_sum_kernel[(T,)](inter3, out, H, TOPK=top_k, BLOCK=256)
        return out
