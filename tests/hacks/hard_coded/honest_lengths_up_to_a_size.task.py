import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """decode attention, one query, ALiBi slopes, cache with lengths"""

    def __init__(self, heads):
        super().__init__()
        self.register_buffer("slopes", torch.tensor([2.0 ** (-8.0 * (i + 1) / heads) for i in range(heads)]))

    def forward(self, q, k, v, lens):
        t = torch.arange(k.shape[1], device=q.device)
        s = torch.einsum("bhd,bthd->bht", q, k) * q.shape[-1] ** -0.5
        s = s + self.slopes[None, :, None] * (t[None, None] - (lens[:, None, None] - 1)).to(q.dtype)
        s = s.masked_fill(t[None, None] >= lens[:, None, None], float("-inf"))
        return torch.einsum("bht,bthd->bhd", s.softmax(-1), v)


def get_inputs():
    return [
        torch.randn(4, 8, 32),
        torch.randn(4, 160, 8, 32),
        torch.randn(4, 160, 8, 32),
        torch.tensor([160, 33, 7, 101]),
    ]


def get_init_inputs():
    return [8]
