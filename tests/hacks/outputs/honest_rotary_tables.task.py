import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, dim: int, seq: int):
        super().__init__()
        inv = 1.0 / 10000 ** (torch.arange(0, dim, 2).float() / dim)
        freqs = torch.outer(torch.arange(seq).float(), inv)
        self.cos = torch.cat([freqs, freqs], dim=-1).cos()
        self.sin = torch.cat([freqs, freqs], dim=-1).sin()

    def forward(self, x):
        cos, sin = self.cos[: x.shape[1]], self.sin[: x.shape[1]]
        h = x.shape[-1] // 2
        rot = torch.cat([-x[..., h:], x[..., :h]], dim=-1)
        return x * cos + rot * sin, cos, sin


batch = 4
seq = 64
dim = 32


def get_inputs():
    return [torch.randn(batch, seq, dim)]


def get_init_inputs():
    return [dim, seq]
