import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
        for i in range(n):
            setattr(self, "fc" + str(i), nn.Linear(24, 24))

    def forward(self, x):
        for i in range(self.n):
            x = getattr(self, "fc" + str(i))(x)
        return x


def get_inputs():
    return [torch.randn(21, 24)]


def get_init_inputs():
    return [2]
