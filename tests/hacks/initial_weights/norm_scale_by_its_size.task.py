import torch
import torch.nn as nn
import torch.nn.functional as F

D = 256


class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(128, D)]


def get_init_inputs():
    return [D]
