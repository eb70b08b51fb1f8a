import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, K, N):
        super().__init__()
        self.lin = nn.Linear(K, N)

    def forward(self, x):
        return self.lin(x)


B = 256
K = 1024
N = 512


def get_inputs():
    return [torch.randn(B, K)]


def get_init_inputs():
    return [K, N]
