import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.sum(x, -1)


rows = 256
cols = 1024


def get_inputs():
    return [torch.randint(0, 1000, (rows, cols), dtype=torch.int32)]


def get_init_inputs():
    return []
