import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, taps):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(taps))

    def forward(self, x):
        return (x.unfold(1, self.weight.numel(), 1) * self.weight.flip(0)).sum(-1)


def get_inputs():
    return [torch.randn(24, 200)]


def get_init_inputs():
    return [5]
