import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        b, s, d = x.shape
        return torch.relu(x), x.view(b * s, d), x[:, 0]


rows = 32
seq = 16
dim = 48


def get_inputs():
    return [torch.randn(rows, seq, dim)]


def get_init_inputs():
    return []
