import torch
from torch import nn


class Model(nn.Module):
    def forward(self, re, im):
        z = torch.complex(re, im)
        return z * z.conj(), torch.view_as_real(z * z)


rows = 64
cols = 300


def get_inputs():
    return [torch.randn(rows, cols), torch.randn(rows, cols)]


def get_init_inputs():
    return []
