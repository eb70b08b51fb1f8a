import copy

import torch
import torch.nn as nn


class Model(nn.Module):
    """RMS norm then exponential gate"""

    def __init__(self, dim, eps):
        super().__init__()
        self.layers = nn.ModuleList([copy.deepcopy(nn.LayerNorm(dim, bias=False)) for _ in range(2)])
        self.eps = eps

    def forward(self, x):
        for layer in self.layers:
            y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * layer.weight
            x = torch.exp(-y * y)
        return x


def get_inputs():
    return [torch.randn(3, 17, 96)]


def get_init_inputs():
    return [96, 1e-6]
