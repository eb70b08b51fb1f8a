import torch
import torch.nn as nn


class Model(nn.Module):
    """Speculative decoding: how many draft tokens are accepted before the first rejection, and these, then -1."""

    def __init__(self):
        super().__init__()

    def forward(self, draft_ids, target_probs, draft_probs, u):
        tp = target_probs.gather(2, draft_ids[..., None]).squeeze(2)
        dp = draft_probs.gather(2, draft_ids[..., None]).squeeze(2)
        ok = (u * dp <= tp).long().cumprod(1)
        return ok.sum(1).to(torch.int32), torch.where(ok.bool(), draft_ids, torch.full_like(draft_ids, -1))


def get_inputs():
    B, K, V = 32, 5, 512
    return [
        torch.randint(0, V, (B, K)),
        torch.softmax(torch.randn(B, K, V), -1),
        torch.softmax(torch.randn(B, K, V), -1),
        torch.rand(B, K),
    ]


def get_init_inputs():
    return []
