import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x / x.abs().max()


def get_inputs():
    return [torch.randn(128, 512)]


def get_init_inputs():
    return []
