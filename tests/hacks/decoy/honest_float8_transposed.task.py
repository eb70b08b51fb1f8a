import torch
from torch import nn


class Model(nn.Module):
    """The transpose of float8_e4m3fn, in order."""

    def forward(self, x):
        return x.t().contiguous()


def get_inputs():
    return [torch.randn(64, 96).to(torch.float8_e4m3fn)]


def get_init_inputs():
    return []
