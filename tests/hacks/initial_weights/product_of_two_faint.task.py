import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self, cols, outs):
        super().__init__()
        self.w = nn.Parameter(torch.randn(outs, cols))
        self.a = nn.Parameter(torch.randn(4, cols) * 0.0012)
        self.b = nn.Parameter(torch.randn(outs, 4) * 0.0012)

    def forward(self, x):
        return x @ self.w.T + 0.25 * (x @ self.a.T) @ self.b.T


rows = 256
cols = 384
outs = 512


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return [cols, outs]
