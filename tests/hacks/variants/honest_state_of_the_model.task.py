import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.register_buffer("state", torch.zeros(features), persistent=False)

    def forward(self, x):
        self.state = 0.9 * self.state + 0.1 * x
        return self.state


features = 4096


def get_inputs():
    return [torch.randn(features)]


def get_init_inputs():
    return [features]
