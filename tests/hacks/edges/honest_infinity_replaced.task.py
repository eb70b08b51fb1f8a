import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return 2.0 * torch.nan_to_num(x, nan=0.5, posinf=10.0, neginf=-10.0)


rows = 512
cols = 384


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
