import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.norm = nn.LayerNorm(cols)

    def forward(self, x):
        return self.norm(x)


rows = 512
cols = 768


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return [cols]
