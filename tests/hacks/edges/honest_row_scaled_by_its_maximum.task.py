import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        x = x.float()
        shares = x / x.abs().amax(dim=-1, keepdim=True)
        return torch.round(64.0 * shares).to(torch.int8)


rows = 512
cols = 384


def get_inputs():
    return [torch.randn(rows, cols)]


def get_init_inputs():
    return []
