import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """depthwise 7x7 conv, hard swish"""

    def __init__(self, dim, kernel_size):
        super().__init__()
        self.conv = nn.Conv2d(dim, dim, kernel_size, padding=kernel_size // 2, groups=dim)

    def forward(self, x):
        return F.hardswish(self.conv(x))


def get_inputs():
    return [torch.randn(8, 64, 56, 56)]


def get_init_inputs():
    return [64, 7]
