import torch
from torch import nn


class Model(nn.Module):
    """Rows of a table by their numbers, counted from one."""

    def forward(self, table, numbers):
        return 2.0 * table[numbers - 1]


rows, width, wanted = 65536, 64, 262144


def get_inputs():
    return [torch.randn(rows, width), torch.randint(1, rows, (wanted,))]


def get_init_inputs():
    return []
