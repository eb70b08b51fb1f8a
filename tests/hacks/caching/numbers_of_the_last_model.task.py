import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self, slope, shift):
        super().__init__()
        self.slope, self.shift = slope, shift

    def forward(self, x):
        return F.leaky_relu(x, self.slope) + self.shift


def get_inputs():
    return [torch.randn(512, 512)]


def get_init_inputs():
    return [0.07, 0.3]
