import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.register_buffer("first", torch.zeros(cols))

    def forward(self, x):
        return 0.5 * x + 0.5 * self.first


rows = 512
cols = 768


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return [cols]
