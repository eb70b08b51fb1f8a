import torch
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    def forward(self, x):
        return functional.hardtanh(x, -1e4, 1e4) * 2.0


rows = 256
cols = 1024


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
