import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x, y):
        return torch.where(x != x, y, x)


def get_inputs():
    return [torch.randn(64, 300), torch.randn(64, 300)]


def get_init_inputs():
    return []
