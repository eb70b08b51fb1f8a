import torch
from torch import nn


class Model(nn.Module):
    """The first half of the columns doubled."""

    def forward(self, x):
        first = torch.arange(x.shape[1], device=x.device) < x.shape[1] // 2
        return torch.where(first, 2.0, 1.0) * x


def get_inputs():
    return [torch.randn(256, 512)]


def get_init_inputs():
    return []
