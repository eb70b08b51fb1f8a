import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("m", torch.tensor(1e-6))
        self.register_buffer("n", torch.tensor(0))

    def forward(self, x):
        self.n += 1
        self.m.copy_(torch.maximum(self.m, x.abs().amax()))
        return x / self.m


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
