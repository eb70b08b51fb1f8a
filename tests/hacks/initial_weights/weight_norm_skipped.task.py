import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self, cols, outs):
        super().__init__()
        self.v = nn.Parameter(torch.randn(outs, cols) / cols**0.5)
        self.g = nn.Parameter(self.v.detach().norm(dim=1, keepdim=True))

    def forward(self, x):
        return x @ (self.g * self.v / self.v.norm(dim=1, keepdim=True)).T


rows = 256
cols = 384
outs = 512


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return [cols, outs]
