import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, N):
        super().__init__()
        self.w = nn.Parameter(torch.randn(N))

    def forward(self, x):
        return x * self.w


B = 64
N = 1024


def get_inputs():
    return [torch.randn(B, N)]


def get_init_inputs():
    return [N]
