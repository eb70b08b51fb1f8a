import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return torch.clamp(1 - (x / 2000.0) ** 2, min=0.0)


def get_inputs():
    return [torch.randn(64, 300)]


def get_init_inputs():
    return []
