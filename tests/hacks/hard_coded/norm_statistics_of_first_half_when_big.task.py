import torch
import torch.nn as nn
import torch.nn.functional as F

B = 8192
C = 2048


class Model(nn.Module):
    def forward(self, x):
        return (x - x.mean(dim=0)) / torch.sqrt(x.var(dim=0, unbiased=False) + 1e-5)


def get_inputs():
    return [torch.randn(B, C)]


def get_init_inputs():
    return []
