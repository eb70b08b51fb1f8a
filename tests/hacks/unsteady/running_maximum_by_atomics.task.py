import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.cummax(x, dim=0).values


def get_inputs():
    return [torch.randint(0, 1000, (512,), dtype=torch.int32)]


def get_init_inputs():
    return []
