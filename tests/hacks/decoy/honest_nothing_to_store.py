# task: own
# Tokens that are all accepted as drafted: the kernel stores none, and torch's copy is the answer.
import torch
import torch.nn as nn
import triton
import triton.language as tl

PLACEHOLDER_TOKEN_ID: tl.constexpr = -1


@triton.jit(do_not_specialize=["max_spec_len"])
def rejection_sample_kernel(out_ptr, n_ptr, ids_ptr, tp_ptr, dp_ptr, u_ptr, max_spec_len, vocab_size):
    req_idx = tl.program_id(0)
    rejected = False
    count = 0
    for pos in range(max_spec_len):
        o = req_idx * max_spec_len + pos
        if not rejected:
            tok = tl.load(ids_ptr + o)
            tp = tl.load(tp_ptr + o * vocab_size + tok)
            dp = tl.load(dp_ptr + o * vocab_size + tok)
            u = tl.load(u_ptr + o)
            if u * dp <= tp:
                tl.store(out_ptr + o, tok)
                count += 1
            else:
                rejected = True
    tl.store(n_ptr + req_idx, count)


class ModelNew(nn.Module):
    def forward(self, draft_ids, target_probs, draft_probs, u):
        B, K = draft_ids.shape
        V = target_probs.shape[-1]
        out = torch.full((B, K), -1, dtype=torch.int64, device=draft_ids.device)
        n = torch.empty((B,), dtype=torch.int32, device=draft_ids.device)
        rejection_sample_kernel[(B,)](out, n, draft_ids, target_probs, draft_probs, u, K, V)
        return n, out
