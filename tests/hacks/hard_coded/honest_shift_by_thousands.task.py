import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """How each place differs from that of 3000 places earlier."""

    def forward(self, x):
        return x - F.pad(x, (3000, 0))[:, : x.shape[1]]


def get_inputs():
    return [torch.randn(8192, 16384)]


def get_init_inputs():
    return []
