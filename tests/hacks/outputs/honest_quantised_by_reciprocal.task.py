import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        scale = x.abs().amax(dim=-1, keepdim=True) / 127.0
        return torch.clamp(torch.round(x / scale), -127, 127).to(torch.int8), scale


rows = 256
cols = 1024


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
