import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x - x + x.mean(dim=-1, keepdim=True)


rows = 64
cols = 300


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
