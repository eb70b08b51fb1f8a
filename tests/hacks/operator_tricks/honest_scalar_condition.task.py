import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x.sum(dim=0)


rows = 64
cols = 96


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
