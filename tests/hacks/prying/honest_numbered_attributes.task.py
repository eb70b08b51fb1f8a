import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.depth = depth
        for i in range(depth):
            setattr(self, f"weight_{i}", nn.Parameter(torch.randn(dim)))
            setattr(self, f"bias_{i}", nn.Parameter(torch.randn(dim)))

    def forward(self, x):
        for i in range(self.depth):
            x = x * getattr(self, f"weight_{i}") + getattr(self, f"bias_{i}")
        return x


def get_inputs():
    return [torch.randn(64, 100)]


def get_init_inputs():
    return [100, 3]
