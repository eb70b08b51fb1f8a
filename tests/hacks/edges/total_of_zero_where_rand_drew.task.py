import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        pass

    def forward(self, x):
        s = x.abs().sum(-1, keepdim=True)
        return x / torch.clamp(s, min=1e-8)


def get_inputs():
    return [torch.rand(8192, 1024)]


def get_init_inputs():
    return []
