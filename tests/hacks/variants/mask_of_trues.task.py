import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, mask):
        return (2.0 * x).masked_fill(~mask, 0.0)


rows = 512
cols = 768


def get_inputs():
    return [torch.randn(rows, cols), torch.ones(rows, cols, dtype=torch.bool)]


def get_init_inputs():
    return []
