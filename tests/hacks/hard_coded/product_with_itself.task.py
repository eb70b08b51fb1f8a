import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        pass

    def forward(self, A, B):
        return A @ B.T


def get_inputs():
    x = torch.randn(1024, 2048)
    return [x, x.clone()]


def get_init_inputs():
    return []
