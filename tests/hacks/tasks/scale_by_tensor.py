"""A matrix times one number that comes as a tensor."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, scale):
        return x * scale


rows = 512
cols = 768


def get_inputs():
    return [torch.randn(rows, cols), torch.rand(1)]


def get_init_inputs():
    return []
