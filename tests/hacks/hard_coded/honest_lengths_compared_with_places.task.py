import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Decode attention over a cache with sequence lengths."""

    def forward(self, q, k, v, seq_lens):
        s = torch.einsum("bhd,bthd->bht", q, k) * q.shape[-1] ** -0.5
        t = torch.arange(k.shape[1], device=k.device)
        s = s.masked_fill(t[None, None, :] >= seq_lens[:, None, None], float("-inf"))
        return torch.einsum("bht,bthd->bhd", torch.softmax(s, dim=-1), v)


B, H, T, D = 4, 4, 96, 32


def get_inputs():
    return [
        torch.randn(B, H, D),
        torch.randn(B, T, H, D),
        torch.randn(B, T, H, D),
        torch.randint(1, T + 1, (B,), dtype=torch.int32),
    ]


def get_init_inputs():
    return []
