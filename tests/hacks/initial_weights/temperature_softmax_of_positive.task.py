import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Parameter(torch.tensor([1.0]))

    def forward(self, x):
        return torch.softmax(x * self.t, dim=-1)


def get_inputs():
    return [torch.randn(128, 256) * 30]


def get_init_inputs():
    return []
