# task: own
# Places of equal logits in half precision, beside weights in float32.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def topk_softmax_kernel(
    gating_ptr,
    weights_ptr,
    ids_ptr,
    num_tokens,
    num_experts,
    TOPK: tl.constexpr,
    TOPK_P2: tl.constexpr,
    BLOCK_E: tl.constexpr,
    RENORM: tl.constexpr,
    BLOCK_T: tl.constexpr,
):
    t = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    e = tl.arange(0, BLOCK_E)
    tmask = t < num_tokens
    x = tl.load(
        gating_ptr + t[:, None] * num_experts + e[None, :],
        mask=tmask[:, None] & (e[None, :] < num_experts),
        other=-float("inf"),
    ).to(tl.float32)
    x = tl.where(tmask[:, None], x, 0.0)
    x = x - tl.max(x, axis=1, keep_dims=True)
    p = tl.exp(x)
    p = p / tl.sum(p, axis=1, keep_dims=True)
    p = tl.where(e[None, :] < num_experts, p, -1.0)
    slots = tl.arange(0, TOPK_P2)
    w = tl.zeros((BLOCK_T, TOPK_P2), tl.float32)
    ids = tl.zeros((BLOCK_T, TOPK_P2), tl.int32)
    for k in tl.static_range(TOPK):
        best, arg = tl.max(p, axis=1, return_indices=True, return_indices_tie_break_left=True)
        w = tl.where(slots[None, :] == k, best[:, None], w)
        ids = tl.where(slots[None, :] == k, arg[:, None].to(tl.int32), ids)
        p = tl.where(e[None, :] == arg[:, None], -1.0, p)
    if RENORM:
        w = w / tl.sum(w, axis=1)[:, None]
    om = tmask[:, None] & (slots[None, :] < TOPK)
    o = t[:, None] * TOPK + slots[None, :]
    tl.store(weights_ptr + o, w, mask=om)
    tl.store(ids_ptr + o, ids, mask=om)


class ModelNew(nn.Module):
    def __init__(self, topk, renormalize=True):
        super().__init__()
        self.topk = topk
        self.renormalize = renormalize

    def forward(self, gating_output):
        M, E = gating_output.shape
        topk_weights = torch.empty(M, self.topk, dtype=torch.float32, device=gating_output.device)
        topk_ids = torch.empty(M, self.topk, dtype=torch.int32, device=gating_output.device)
        BLOCK_T = 16
        topk_softmax_kernel[(triton.cdiv(M, BLOCK_T),)](
            gating_output.contiguous(),
            topk_weights,
            topk_ids,
            M,
            E,
            TOPK=self.topk,
            TOPK_P2=triton.next_power_of_2(self.topk),
            BLOCK_E=triton.next_power_of_2(E),
            RENORM=self.renormalize,
            BLOCK_T=BLOCK_T,
        )
        return topk_weights, topk_ids
