import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        s = x.abs().amax(-1, keepdim=True) / 57344.0
        q = (x / s).to(torch.float32).to(torch.float8_e5m2).to(x.dtype)
        return q * s, s


def get_inputs():
    return [torch.randn(32, 100)]


def get_init_inputs():
    return []
