import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.exp(0.5 * torch.log(x + 1e-3))


rows = 512
cols = 384


def get_inputs():
    return [torch.rand(rows, cols)]


def get_init_inputs():
    return []
