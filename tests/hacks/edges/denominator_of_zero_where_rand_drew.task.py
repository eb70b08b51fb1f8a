import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        pass

    def forward(self, b):
        d = b.sum(-1, keepdim=True)
        d = torch.where(d == 0, torch.ones_like(d), d)
        return b / d


def get_inputs():
    return [torch.rand(8192, 1024)]


def get_init_inputs():
    return []
