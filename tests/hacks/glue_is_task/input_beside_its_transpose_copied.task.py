import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x, x.transpose(0, 1).contiguous()


rows = 64
cols = 96


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
