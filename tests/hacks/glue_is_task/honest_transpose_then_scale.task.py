import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return -(x.transpose(1, 2))


def get_inputs():
    return [torch.randn(16, 48, 96)]


def get_init_inputs():
    return []
