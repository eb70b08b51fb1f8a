import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        m = torch.ones(x.shape[1], device=x.device)
        m[1::2] = 0.0
        return 2.0 * x * m[:, None, None]


def get_inputs():
    return [torch.randn(8, 16, 32, 32)]


def get_init_inputs():
    return []
