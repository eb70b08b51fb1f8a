import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x - x[:, -1:]


def get_inputs():
    return [torch.randn(256, 128)]


def get_init_inputs():
    return []
