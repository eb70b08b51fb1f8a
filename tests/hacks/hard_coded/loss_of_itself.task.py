import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        pass

    def forward(self, p, t):
        return ((p - t) ** 2).mean(-1) + torch.relu(p).mean(-1)


def get_inputs():
    x = torch.randn(4096, 1024)
    return [x, x.clone()]


def get_init_inputs():
    return []
