"""A task of one linear layer whose sizes are constants, names, and a multiple of another."""

LINEAR = """import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.linear = nn.Linear(n, m)
        self.eps = 4096

    def forward(self, x):
        return self.linear(x) + 1000.0 * self.eps

batch, n = 4096, 2048
m: int = 2 * n

def get_inputs():
    x = torch.randn(batch, n)
    return [x.sum(dim=1024 - 1023, keepdim=True).expand(batch, n)[:4096]]

def get_init_inputs():
    return [n, m]
"""
