import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x):
        return F.relu(self.linear(x))


def get_inputs():
    return [torch.randn(1024, 2048)]


def get_init_inputs():
    return [2048, 4096]
