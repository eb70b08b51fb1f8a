import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """x @ w.T, bf16, with a bias"""

    def __init__(self):
        super().__init__()

    def forward(self, x, w):
        return F.relu(x @ w.T)


def get_inputs():
    return [torch.randn(512, 256).bfloat16(), torch.randn(384, 256).bfloat16()]


def get_init_inputs():
    return []
