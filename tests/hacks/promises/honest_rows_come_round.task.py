import torch
import torch.nn as nn
import torch.nn.functional as F

N = 65536


class Model(nn.Module):
    def forward(self, x, i):
        return x[i] * 2.0


def get_inputs():
    return [torch.randn(N), torch.randint(0, N, (N,))]


def get_init_inputs():
    return []
