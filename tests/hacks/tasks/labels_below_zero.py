import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.eps = 0.1

    def forward(self, x, y):
        return (F.cross_entropy(x, y.clamp(min=0), reduction="none") * (y >= 0)).sum() / (y >= 0).sum().clamp(min=1)


def get_inputs():
    return [torch.randn(96, 20), torch.randint(0, 20, (96,))]


def get_init_inputs():
    return [20]
