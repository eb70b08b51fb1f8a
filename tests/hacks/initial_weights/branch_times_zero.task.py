import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.alpha = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + self.alpha * torch.tanh(x)


rows = 512
cols = 768


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
