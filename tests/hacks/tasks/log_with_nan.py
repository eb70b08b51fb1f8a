"""The logarithm: NaN where the input is negative."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.log(x)


rows = 512
cols = 768


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
