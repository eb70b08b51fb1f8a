import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return F.avg_pool2d(x, (3, 1), stride=1, padding=(1, 0), count_include_pad=True)


def get_inputs():
    return [torch.randn(4, 16, 16)]


def get_init_inputs():
    return []
