import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        scale = x.abs().amax(dim=-1, keepdim=True) / 127.0
        return torch.clamp(torch.floor(x / scale + 0.5), -127, 127).to(torch.int8), scale


def get_inputs():
    return [torch.randn(64, 256)]


def get_init_inputs():
    return []
