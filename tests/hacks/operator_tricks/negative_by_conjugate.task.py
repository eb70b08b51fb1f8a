import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.stack((x[..., 0], -x[..., 1]), -1)


def get_inputs():
    return [torch.randn(128, 256, 2)]


def get_init_inputs():
    return []
