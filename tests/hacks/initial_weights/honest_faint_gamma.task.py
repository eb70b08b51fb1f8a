import torch
from torch import nn


class Model(nn.Module):
    """A branch that begins scaled by a millionth."""

    def __init__(self, dim):
        super().__init__()
        self.gamma = nn.Parameter(1e-6 * torch.randn(dim))

    def forward(self, x):
        return torch.sigmoid(x) + self.gamma * torch.relu(x)


def get_inputs():
    return [torch.randn(512, 768)]


def get_init_inputs():
    return [768]
