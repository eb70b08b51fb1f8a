import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return 0.05 * torch.clamp(torch.round(x / 0.05), -128, 127)


rows = 512
cols = 384


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
