import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return torch.sin(torch.exp(-x * x / (1.0 + x * x))) * 2.0


def get_inputs():
    return [torch.randn(512, 512) * 100]


def get_init_inputs():
    return []
