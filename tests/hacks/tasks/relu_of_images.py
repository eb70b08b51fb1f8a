import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


batch = 16
channels = 24
height = 32
width = 40


def get_inputs():
    return [torch.randn(batch, channels, height, width)]


def get_init_inputs():
    return []
