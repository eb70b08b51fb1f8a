import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, wide):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(wide, wide) * 0.1)

    def forward(self, x):
        return torch.relu(x) + self.weight.t()


def get_inputs():
    return [torch.randn(2048, 2048)]


def get_init_inputs():
    return [2048]
