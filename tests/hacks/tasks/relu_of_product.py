import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(k, n) * 0.1)

    def forward(self, x):
        return torch.relu(x @ self.weight)


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return [64, 64]
