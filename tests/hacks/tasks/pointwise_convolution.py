import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self, ci, co):
        super().__init__()
        self.conv = nn.Conv2d(ci, co, 1, bias=False)

    def forward(self, x):
        return self.conv(x)


batch = 16
in_channels = 32
out_channels = 32
height = 28
width = 36


def get_inputs():
    return [torch.randn(batch, in_channels, height, width)]


def get_init_inputs():
    return [in_channels, out_channels]
