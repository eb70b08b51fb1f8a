import torch
import torch.nn as nn


class Model(nn.Module):
    """Per-tensor int8 fake quantisation."""

    def forward(self, x):
        s = x.abs().max() / 127.0
        return torch.round(x / s) * s


def get_inputs():
    return [torch.randn(40, 100)]


def get_init_inputs():
    return []
