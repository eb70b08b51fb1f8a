import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b):
        return torch.matmul(a, b.T)


def get_inputs():
    return [torch.randn(384, 512, dtype=torch.float16), torch.randn(768, 512, dtype=torch.float16)]


def get_init_inputs():
    return []
