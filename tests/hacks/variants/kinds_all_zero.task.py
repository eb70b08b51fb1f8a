import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, cols):
        super().__init__()
        self.types = nn.Embedding(2, cols)

    def forward(self, x, kinds):
        return x + self.types(kinds)


rows = 512
cols = 768


def get_inputs():
    return [torch.randn(rows, cols), torch.zeros(rows, dtype=torch.long)]


def get_init_inputs():
    return [cols]
