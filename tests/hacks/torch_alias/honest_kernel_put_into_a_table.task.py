import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.act = {"relu": nn.ReLU(), "elu": nn.ELU()}[name]

    def forward(self, x):
        return self.act(x) + 1


def get_inputs():
    return [torch.randn(300)]


def get_init_inputs():
    return ["relu"]
