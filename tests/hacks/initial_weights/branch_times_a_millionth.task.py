import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.gamma = nn.Parameter(1e-6 * torch.ones(cols))

    def forward(self, x):
        return x + self.gamma * torch.tanh(x)


rows = 512
cols = 768


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return [cols]
