import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return torch.sum(x, dim=self.dim)


batch = 4
rows = 256
cols = 32


def get_inputs():
    return [torch.randn(batch, rows, cols)]


def get_init_inputs():
    return [1]
