import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, x):
        return torch.sigmoid(F.interpolate(x, size=(self.size, self.size), mode="bilinear", align_corners=False))


def get_inputs():
    return [torch.randn(8, 32, 512, 512)]


def get_init_inputs():
    return [256]
